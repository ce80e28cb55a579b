import { toFleetGcError } from '../../packages/process/errors.ts';
import type { ObjectOutcome } from '../../schemas/events/result.ts';
import type { CommandItem } from './checks/second-look.ts';
import type { ItemProgress, JournalEntry } from './journal/journal-state.ts';
import { carryOut, measuredNow } from './removal/carry-out.ts';
import type { CarryOutParts } from './removal/carry-out-object.ts';
import { unmeasured } from './removal/earlier-attempt.ts';
import { afterAbandoned } from './results/reclaim.ts';
import { recordDone, recordItem } from './results/recorder.ts';

/**
 * Carries out the commands of the journal one after the other, in the order in which they came, until `signal` aborts;
 * the removal in hand is then finished and the rest of its command is not done. Commands not begun stay in the journal.
 */
export async function runWorker(parts: CarryOutParts, signal: AbortSignal): Promise<void> {
  const { journal } = parts.recorder;
  while (!signal.aborted) {
    const [entry] = journal.state().entries;
    if (entry) await carryOutOrAbandon(entry, parts, signal);
    else await journal.changed(signal);
  }
}

/** What nobody foresaw must not come back at every start: the command ends, and the reports and the log say why. */
async function carryOutOrAbandon(
  entry: JournalEntry,
  parts: CarryOutParts,
  signal: AbortSignal,
): Promise<void> {
  try {
    await carryOut(entry, parts, signal);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    const { logger } = parts.recorder;
    logger.error({ commandId: entry.command.id, err: error.cause ?? error }, 'command abandoned');
    await abandon(entry.command.id, error.message, parts);
  }
}

/** What was in hand may be gone: that counts as an action. */
async function abandon(commandId: string, problem: string, parts: CarryOutParts): Promise<void> {
  const { recorder } = parts;
  const find = () => recorder.journal.state().entries.find(({ command }) => command.id === commandId);
  const entry = find();
  if (!entry) return;
  for (const [index, item] of entry.command.items.entries()) {
    const progress = entry.items[index] ?? { state: 'waiting' };
    const outcome = abandoned(item, progress, problem);
    if (!outcome) continue;
    const actedAt = progress.state === 'waiting' ? null : recorder.clock.now();
    recordItem(recorder, entry, { index, item, outcome, actedAt, name: null });
  }
  const items = find()?.items ?? [];
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
