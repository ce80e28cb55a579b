import type { Bucket } from '../../../schemas/disk-stats.ts';

/** A threshold in bytes or inodes. */
export interface Bars {
  /** Met below this, strictly (J9). */
  readonly threshold: bigint;
  /** Once met and past its grace, it stays met below this: the threshold and its minimum reclaim (J10). */
  readonly cleared: bigint;
  readonly gracePeriodMs: number;
}

/** What the past leaves behind. */
interface Past {
  /** Start of the unbroken time below the threshold (J11); `null` when it is not below. */
  readonly belowSinceMs: number | null;
  /** It was met and past its grace, and has not been cleared since. */
  readonly isActive: boolean;
}

const NOTHING: Past = { belowSinceMs: null, isActive: false };

/** Buckets span a minute at most; where two lie further apart nobody looked in between. */
const MAX_GAP_MS = 60_000;

/**
 * Whether a threshold is met and past its grace (J10, J11), by folding over the buckets of the event where the kubelet
 * remembers. Where a bucket leaves open in which order its values came, the threshold counts as not met; a time in which
 * nobody looked ends what was before it.
 */
export function isMet(
  free: bigint,
  history: readonly Bucket[],
  { bars, nowMs }: { readonly bars: Bars; readonly nowMs: number },
): boolean {
  const { belowSinceMs, isActive } = pastOf(history, bars, nowMs);
  if (isActive && free < bars.cleared) return true;
  return free < bars.threshold && nowMs - (belowSinceMs ?? nowMs) >= bars.gracePeriodMs;
}

function pastOf(history: readonly Bucket[], bars: Bars, nowMs: number): Past {
  let past = NOTHING;
  let lastMs: number | null = null;
  for (const bucket of history) {
    past = after(followsOn(lastMs, bucket[0]) ? past : NOTHING, bucket, bars);
    lastMs = bucket[0];
  }
  return followsOn(lastMs, nowMs) ? past : NOTHING;
}

const followsOn = (beforeMs: number | null, atMs: number): boolean =>
  beforeMs !== null && atMs >= beforeMs && atMs - beforeMs <= MAX_GAP_MS;

function after(before: Past, [startMs, minimum, maximum, last]: Bucket, bars: Bars): Past {
  const isBelow = (value: string): boolean => BigInt(value) < bars.threshold;
  const belowSinceMs = isBelow(maximum) ? (before.belowSinceMs ?? startMs) : null;
  const isCleared = BigInt(maximum) >= bars.cleared;
  const begins =
    bars.gracePeriodMs === 0
      ? isBelow(last) || (isBelow(minimum) && !isCleared)
      : belowSinceMs !== null && startMs - belowSinceMs >= bars.gracePeriodMs;
  return { belowSinceMs, isActive: begins || (before.isActive && !isCleared) };
}
