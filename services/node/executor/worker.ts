import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { ObjectOutcome } from '../../../schemas/events/result.ts';
import type { CommandItem } from './checks/removable.ts';
import type { ItemProgress, JournalEntry } from './journal/journal-state.ts';
import { carryOut, measuredNow } from './removal/command-removal.ts';
import { unmeasured } from './removal/interrupted-removal.ts';
import type { RemovalParts } from './removal/object-work.ts';
import { afterAbandoned } from './results/reclaim.ts';
import { type Recorder, recordDone, recordItem, recordUnreported } from './results/record-results.ts';

/**
 * Carries out the commands of the journal one after the other, in the order in which they came, until `signal` aborts;
 * the removal in hand is then finished and the rest of its command is not done. Commands not begun stay in the journal.
 */
export async function runWorker(parts: RemovalParts, signal: AbortSignal): Promise<void> {
  const { journal } = parts.recorder;
  while (!signal.aborted) {
    const [entry] = journal.state().entries;
    if (!entry) {
      await journal.changed(signal);
      continue;
    }
    try {
      await carryOut(parts.recorder.spans?.begin(entry) ?? entry, parts, signal);
    } catch (thrown) {
      await abandon(entry.command.id, thrown, parts);
    }
  }
}

/**
 * What nobody foresaw must not come back at every start: the command ends, and the reports and the log say why. What was
 * in hand may be gone: that counts as an action. Where even that fails, the command ends all the same.
 */
async function abandon(commandId: string, thrown: unknown, parts: RemovalParts): Promise<void> {
  const { recorder } = parts;
  const error = toFleetGcError(thrown);
  recorder.logger.error({ commandId, err: error.cause ?? error }, 'command abandoned');
  const find = () => recorder.journal.state().entries.find(({ command }) => command.id === commandId);
  const entry = find();
  if (!entry) return;
  for (const [index, item] of entry.command.items.entries())
    await attempt({ commandId, id: item.id }, recorder, () => {
      recordAbandoned(recorder, entry, { index, item, problem: error.message });
    });
  await attempt({ commandId }, recorder, () => recordEnd(entry, find()?.items ?? [], parts));
  const left = find();
  if (left) recordUnreported(recorder, left);
}

async function attempt(
  what: Readonly<Record<string, string>>,
  { logger }: Recorder,
  record: () => void | Promise<void>,
): Promise<void> {
  try {
    await record();
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    logger.error(
      { ...what, err: error.cause ?? error },
      'what became of an abandoned command is not reported',
    );
  }
}

interface AbandonedItem {
  readonly index: number;
  readonly item: CommandItem;
  readonly problem: string;
}

function recordAbandoned(
  recorder: Recorder,
  entry: JournalEntry,
  { index, item, problem }: AbandonedItem,
): void {
  const progress = entry.items[index] ?? { state: 'waiting' };
  const outcome = abandoned(item, progress, problem);
  if (!outcome) return;
  const actedAt = progress.state === 'waiting' ? null : recorder.clock.now();
  recordItem(recorder, entry, { index, item, outcome, actedAt, name: null });
}

async function recordEnd(
  entry: JournalEntry,
  items: JournalEntry['items'],
  parts: RemovalParts,
): Promise<void> {
  const { recorder } = parts;
  const reached = await measuredNow(entry.command, parts);
  const next = afterAbandoned(entry.command, { ...reached, items, at: recorder.clock.now() });
  recordDone(recorder, entry, { items, measured: null, targetReached: reached.targetReached }, next);
}

/** `undefined`: it has its result. */
function abandoned(item: CommandItem, progress: ItemProgress, problem: string): ObjectOutcome | undefined {
  switch (progress.state) {
    case 'done':
      return undefined;
    case 'removed':
      return unmeasured(item, progress);
    case 'in-hand':
      return notDone(`while it removed this object, which may be gone: ${problem}`);
    case 'waiting':
      return notDone(`before this object: ${problem}`);
  }
}

const notDone = (problem: string): ObjectOutcome => ({
  outcome: 'not-done',
  message: `the executor failed ${problem}`,
});
