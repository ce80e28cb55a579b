import { deleteTopics } from './broker/topics.ts';
import { playOnCluster } from './cluster/round.ts';
import type { Violation } from './judge/evidence.ts';
import { playOnNodes } from './node-round.ts';
import type { Counts, PlayedRound, RoundSettings } from './played-round.ts';
import type { Schedule } from './schedule/schedule.ts';

/** How a round came out, as one line of the campaign's file. */
export interface Outcome {
  /** `broken`: the round itself could not be carried out, which says nothing about the product. */
  readonly outcome: 'held' | 'violated' | 'broken';
  readonly violations: readonly Violation[];
  readonly problem: string | null;
  readonly counts: Counts | null;
  /** From the last fault until everything was relieved and answered. */
  readonly settledMs: number | null;
  readonly tookMs: number;
}

/** Ten times as long as a round usually takes. */
const ROUND_BOUND_MS = 600_000;

/** Plays a schedule on a fleet of its own, waits until it came to rest, and judges what it did. */
export async function runRound(settings: RoundSettings, schedule: Schedule): Promise<Outcome> {
  const beganMs = Date.now();
  const tookMs = (): number => Date.now() - beganMs;
  const bound = AbortSignal.timeout(ROUND_BOUND_MS);
  try {
    const signal = AbortSignal.any([settings.signal, bound]);
    const { violations, counts, settledMs } = await played({ ...settings, signal }, schedule);
    const outcome = violations.length > 0 ? 'violated' : 'held';
    return { outcome, violations, problem: null, counts, settledMs, tookMs: tookMs() };
  } catch (error) {
    const problem = bound.aborted
      ? `it did not end within ${ROUND_BOUND_MS / 1000} s`
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
    return { outcome: 'broken', violations: [], problem, counts: null, settledMs: null, tookMs: tookMs() };
  }
}

async function played(settings: RoundSettings, schedule: Schedule): Promise<PlayedRound> {
  await deleteTopics(settings.broker.address);
  return schedule.subject === 'nodes' ? playOnNodes(settings, schedule) : playOnCluster(settings, schedule);
}
