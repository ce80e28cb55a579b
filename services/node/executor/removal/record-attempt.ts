import type { ObjectOutcome, ObjectRefusal } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { isPodLogEntry } from '../checks/removable.ts';
import { type Recorder, recordItem } from '../results/record-results.ts';
import { afterInterrupted, durationMs, type End, estimateOf } from './interrupted-removal.ts';
import { measuredBetween, measuredFilesystem, type Reading, SETTLE_MS, settled } from './measure.ts';
import { type MeasuredWork, progressTo, type RemovalParts } from './object-work.ts';
import { type Attempt, mayHaveActed } from './removal-attempt.ts';

export function recordEnd(
  { entry, index, item, interrupted }: MeasuredWork,
  end: End,
  { recorder }: RemovalParts,
): void {
  const known = interrupted === null ? end : afterInterrupted(interrupted, end, recorder);
  recordItem(recorder, entry, { ...known, index, item });
}

/** What came of one object; `inHand` is `null` where it was not taken in hand. */
interface Trial {
  readonly attempt: Attempt;
  readonly inHand: { readonly since: Instant; readonly name: string } | null;
  readonly endedAt: Instant;
}

/** Measures what was freed, and writes what came of it. */
export async function recordAttempt(
  work: MeasuredWork,
  trial: Trial,
  parts: RemovalParts,
  signal: AbortSignal,
): Promise<void> {
  const { attempt, inHand, endedAt } = trial;
  // Whoever dies while the freed space is waited for must not take an object that came back for one that never went.
  if (attempt.outcome === 'removed')
    progressTo(work, { state: 'removed', durationMs: tookMs(trial) }, parts.recorder);
  const actedAt = mayHaveActed(attempt, inHand !== null && !isPodLogEntry(work.item)) ? endedAt : null;
  const after = actedAt ? await measureAfter(work, attempt, parts, signal) : null;
  const outcome = outcomeOf(trial, work, after, parts.recorder);
  recordEnd(work, { outcome, actedAt, name: inHand?.name ?? null }, parts);
}

const tookMs = ({ inHand, endedAt }: Trial): number => (inHand ? durationMs(inHand.since, endedAt) : 0);

/** Sizes of containers are not known, so only the end of their command waits for the space they free. */
function measureAfter(
  { entry, item, before }: MeasuredWork,
  attempt: Attempt,
  { filesystems, tools, recorder }: RemovalParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const expectation = {
    filesystem: measuredFilesystem(entry.command),
    target: entry.command.reclaim?.target ?? null,
    before,
    estimatedBytes: BigInt(estimateOf(item) ?? 0),
    waitMs: estimateOf(item) !== null && attempt.outcome !== 'failed' ? SETTLE_MS : 0,
  };
  return settled(expectation, { filesystems, clock: recorder.clock, sleep: tools.sleep }, signal);
}

/**
 * Refusals that decisions cannot foresee and only people can end: such objects are left out for a while as failed ones
 * are, or the oldest of them would fill every plan.
 */
const LASTING_REFUSALS: readonly ObjectRefusal[] = [
  'kept-by-node',
  'not-ours',
  'unsafe-log-path',
  'in-use-outside-cri',
];

function outcomeOf(
  trial: Trial,
  { entry, item, before }: MeasuredWork,
  after: Reading | null,
  { backoff, metrics }: Recorder,
): ObjectOutcome {
  const { attempt, endedAt } = trial;
  if (attempt.outcome === 'removed' || attempt.outcome === 'not-found') backoff.forget(item);
  switch (attempt.outcome) {
    case 'refused':
      if (LASTING_REFUSALS.includes(attempt.reason)) backoff.failed(item, endedAt.wallTimeMs);
      return attempt;
    case 'not-found':
      return attempt;
    case 'failed':
      return { ...attempt, backoffUntilMs: backoff.failed(item, endedAt.wallTimeMs).untilMs };
    case 'removed': {
      metrics.removalSeconds.observe({ kind: item.kind }, tookMs(trial) / 1000);
      return {
        outcome: 'removed',
        measured: measuredBetween(entry.command, before, after),
        estimatedBytes: estimateOf(item),
        durationMs: tookMs(trial),
      };
    }
  }
}
