import { toFleetGcError } from '../shared/errors.ts';
import { carryOut, measuredNow } from './carry-out.ts';
import type { CarryOutParts } from './carry-out-item.ts';
import type { JournalEntry } from './journal-state.ts';
import { afterAbandoned } from './reclaim.ts';
import { recordDone, recordItem } from './recorder.ts';

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
    const state = entry.items[index]?.state;
    if (state === 'done') continue;
    const when =
      state === 'in-hand' ? 'while it removed this object, which may be gone' : 'before this object';
    const outcome = { outcome: 'not-done', message: `the executor failed ${when}: ${problem}` } as const;
    const actedAt = state === 'in-hand' ? recorder.clock.now() : null;
    recordItem(recorder, entry, { index, item, outcome, actedAt, name: null });
  }
  const items = find()?.items ?? [];
  const reached = await measuredNow(entry.command, parts);
  const next = afterAbandoned(entry.command, { ...reached, items, at: recorder.clock.now() });
  recordDone(recorder, entry, { items, measured: null, targetReached: reached.targetReached }, next);
}
