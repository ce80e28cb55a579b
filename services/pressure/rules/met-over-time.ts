import type { Bucket } from '../../../schemas/events/disk-stats.ts';

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
  /** The last bucket was below the threshold throughout. */
  readonly isBelow: boolean;
  /** Start of the unbroken time below that samples vouch for (J11); `null` when there is none. */
  readonly belowSinceMs: number | null;
  /** It was met and past its grace, and has not been cleared since. */
  readonly isActive: boolean;
}

const NOTHING: Past = { isBelow: false, belowSinceMs: null, isActive: false };

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
  const isUnder = (value: string): boolean => BigInt(value) < bars.threshold;
  const isBelow = isUnder(maximum);
  const belowSinceMs = isBelow ? vouchedSince(before, startMs) : null;
  const isCleared = BigInt(maximum) >= bars.cleared;
  const begins =
    bars.gracePeriodMs === 0
      ? isUnder(last) || (isUnder(minimum) && !isCleared)
      : belowSinceMs !== null && startMs - belowSinceMs >= bars.gracePeriodMs;
  return { isBelow, belowSinceMs, isActive: begins || (before.isActive && !isCleared) };
}

/**
 * A bucket does not tell when its first sample was taken, only that it was before the next bucket. So time counts from
 * the start of the second bucket that is below throughout; and not from before a reboot (negative times), since only the
 * wall clock tells how long that was.
 */
const vouchedSince = ({ isBelow, belowSinceMs }: Past, startMs: number): number | null =>
  isBelow ? (belowSinceMs ?? Math.max(startMs, 0)) : null;
