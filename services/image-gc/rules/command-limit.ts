import { MAX_COMMAND_ITEMS } from '../../../schemas/events/command.ts';
import type { Removal, Spared } from './candidates.ts';

/** A plan, cut to what one command may hold. */
export interface Limited {
  readonly commanded: readonly Removal[];
  /** The rest of the plan, which a later inventory may bring. */
  readonly later: readonly Spared[];
  /** What all that is commanded frees (M7), or the sum of its listed sizes (D14). */
  readonly estimatedBytes: bigint;
}

/** Never more than one command may hold, nor than half of the listed images, but one at least. */
export function withinCommand(removals: readonly Removal[], listedImages: number): Limited {
  const most = Math.min(MAX_COMMAND_ITEMS, Math.max(1, Math.floor(listedImages / 2)));
  const commanded = removals.slice(0, most);
  return {
    commanded,
    later: removals.slice(most).map(({ position, image }, index) => ({
      position,
      image,
      rule: most === MAX_COMMAND_ITEMS ? 'P4' : 'P5',
      facts: { place: most + index + 1, removed: most },
    })),
    estimatedBytes: commanded.reduce((sum, removal) => sum + removal.estimatedBytes, 0n),
  };
}
