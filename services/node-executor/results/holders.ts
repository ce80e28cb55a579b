import type { Command, Holder, ImageRemoval } from '../../../schemas/events/command.ts';
import type { ItemProgress, JournalEntry } from '../journal/journal-state.ts';

/**
 * What holds the space after a command (M8): what image-gc said of the images that were not to go, and those of the
 * command that stayed all the same. `items` is empty when nothing of the command was begun; `isHeld`: a pause or the node's
 * own file ended it.
 */
export function holdersAfter(command: Command, items: JournalEntry['items'], isHeld: boolean): Holder[] {
  switch (command.kind) {
    case 'container-removal':
      return [];
    case 'image-removal':
      return holdersOfImages(command, items, isHeld ? 'held' : 'waiting');
  }
}

function holdersOfImages(
  command: ImageRemoval,
  items: JournalEntry['items'],
  left: 'waiting' | 'held',
): Holder[] {
  const stayed = command.items.flatMap(({ estimatedBytes }, index): Holder[] => {
    const reason = reasonToStay(items[index], left);
    return reason ? [{ reason, objects: 1, bytes: estimatedBytes }] : [];
  });
  return [...Map.groupBy([...command.holders, ...stayed], ({ reason }) => reason).values()].map(together);
}

function reasonToStay(
  progress: ItemProgress | undefined,
  left: 'waiting' | 'held',
): 'waiting' | 'held' | 'backing-off' | undefined {
  if (progress?.state !== 'done') return left;
  switch (progress.outcome) {
    case 'removed':
    case 'not-found':
      return undefined;
    case 'failed':
      return 'backing-off';
    default:
      return left;
  }
}

const together = (holders: readonly Holder[]): Holder =>
  holders.reduce((sum, { reason, objects, bytes }) => ({
    reason,
    objects: sum.objects + objects,
    bytes: sum.bytes + bytes,
  }));
