import type { Bucket, DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../../../schemas/events/filesystem.ts';
import type { ReclaimCause } from '../../../../schemas/events/reclaim.ts';
import type { Amount, EvictionSignal, EvictionThreshold } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { KeepingDoubt } from '../../../decision/conclusion.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import {
  clearedAt,
  MAX_GAP_MS,
  thresholdAt,
  thresholdsInForce,
  WATCHED,
} from '../../../decision/thresholds/eviction-signals.ts';
import {
  actionsFor,
  believeUsage,
  type Layout,
  layoutOf,
} from '../../../decision/thresholds/filesystem-usage.ts';
import { chosen, type Finding, type Met, notMet, type Observed, observe, observeReading } from './finding.ts';

export const FORCED_GC_OFF = 'M16: forced garbage collection is switched off';

/** The eviction thresholds of the kubelet, which force garbage collection (J). */
export function evictionThresholds(stats: DiskStats, policy: Policy): readonly Finding[] {
  if (policy.evictionThresholds.length === 0) return [];
  if (!policy.forcedGC) return [notMet(FORCED_GC_OFF)];
  const layout = layoutOf(stats.filesystems);
  if (layout === null) return unreadable(stats);
  const node = { stats, policy, layout };
  const findings = thresholdsInForce(policy.evictionThresholds, layout).map((one) => find(one, node));
  const reported = findings.filter((finding) => finding !== null);
  return reported.length > 0 ? reported : [notMet('no eviction threshold is met')];
}

/** Without the devices of all three it is not known what frees space of which (J3). */
const unreadable = ({ filesystems }: DiskStats): Finding[] =>
  (['nodefs', 'imagefs', 'containerfs'] satisfies FilesystemName[]).flatMap((name) => {
    const believed = filesystems[name] === null ? believeUsage(name, null) : null;
    return believed?.kind === 'doubt' ? [believed] : [];
  });

interface Node {
  readonly stats: DiskStats;
  readonly policy: Policy;
  readonly layout: Layout;
}

/** `null`: not met, which goes without saying. */
function find(threshold: EvictionThreshold, { stats, policy, layout }: Node): Finding | null {
  const watched = WATCHED[threshold.signal];
  const observation = observe(stats, watched);
  if (observation.kind === 'not-counted') return null;
  if (observation.kind === 'doubt') return observation;
  const history = stats.history[watched.filesystem][watched.resource];
  const limits = limitsOf(threshold, observation);
  const isNowMet = isMet(observation.free, history, { limits, nowMs: stats.takenAt.sinceBootMs });
  return isNowMet ? reclaimOf(threshold, observation, { eventId: stats.id, policy, layout }) : null;
}

/** What a threshold orders while it is met. */
function reclaimOf(
  threshold: EvictionThreshold,
  observation: Observed,
  { eventId, policy, layout }: Pick<Node, 'policy' | 'layout'> & { readonly eventId: string },
): Finding {
  const watched = WATCHED[threshold.signal];
  const cause = causeOf(threshold, observation, { eventId, policy: policy.name });
  const sentence = `${cause.signal} is at ${cause.reading}, threshold ${cause.threshold}`;
  const actions = [...actionsFor(layout, watched.filesystem, policy)];
  const [step] = actions;
  if (step === undefined) return notMet(`${sentence}, and garbage collection frees none of it (J17)`);
  const target = { ...watched, atLeast: String(limitsOf(threshold, observation).cleared) };
  const reason = `${sentence}: ${target.resource} of ${target.filesystem} shall be at least ${target.atLeast}`;
  return { kind: 'met', isForced: true, cause, target, actions, step, reason };
}

const limitsOf = (threshold: EvictionThreshold, { capacity }: Observed): ThresholdLimits => ({
  threshold: thresholdAt(threshold, capacity),
  cleared: clearedAt(threshold, capacity),
  gracePeriodMs: threshold.gracePeriodMs,
});

const causeOf = (
  { signal, value }: EvictionThreshold,
  { free, capacity }: Observed,
  { eventId, policy }: Pick<ReclaimCause, 'eventId' | 'policy'>,
): ReclaimCause => ({
  signal,
  threshold: textOf(value),
  reading: 'percent' in value ? `${(free * 100n) / capacity}% free` : `${free} free`,
  policy,
  eventId,
});

const textOf = (value: Amount): string => ('percent' in value ? `${value.percent}%` : value.quantity);

/** A threshold in bytes or inodes. */
interface ThresholdLimits {
  /** Met below this, strictly (J9). */
  readonly threshold: bigint;
  /** Once met and past its grace, it stays met below this: the threshold and its minimum reclaim (J10). */
  readonly cleared: bigint;
  readonly gracePeriodMs: number;
}

/** What earlier buckets say of a threshold. */
interface ThresholdState {
  /** The last bucket was below the threshold throughout. */
  readonly isBelow: boolean;
  /** Start of the unbroken time below that samples vouch for (J11); `null` when there is none. */
  readonly belowSinceMs: number | null;
  /** It was met and past its grace, and has not been cleared since. */
  readonly isActive: boolean;
}

const NOTHING: ThresholdState = { isBelow: false, belowSinceMs: null, isActive: false };

/**
 * Whether a threshold is met and past its grace (J10, J11), by folding over the buckets of the event where the kubelet
 * remembers. Where a bucket leaves open in which order its values came, the threshold counts as not met; a time in which
 * nobody looked ends what was before it.
 */
export function isMet(
  free: bigint,
  history: readonly Bucket[],
  { limits, nowMs }: { readonly limits: ThresholdLimits; readonly nowMs: number },
): boolean {
  const { belowSinceMs, isActive } = stateOf(history, limits, nowMs);
  if (isActive && free < limits.cleared) return true;
  return free < limits.threshold && nowMs - (belowSinceMs ?? nowMs) >= limits.gracePeriodMs;
}

function stateOf(history: readonly Bucket[], limits: ThresholdLimits, nowMs: number): ThresholdState {
  let state = NOTHING;
  let lastMs: number | null = null;
  for (const bucket of history) {
    state = stateAfter(followsOn(lastMs, bucket[0]) ? state : NOTHING, bucket, limits);
    lastMs = bucket[0];
  }
  return followsOn(lastMs, nowMs) ? state : NOTHING;
}

const followsOn = (beforeMs: number | null, atMs: number): boolean =>
  beforeMs !== null && atMs >= beforeMs && atMs - beforeMs <= MAX_GAP_MS;

function stateAfter(
  before: ThresholdState,
  [startMs, minimum, maximum, last]: Bucket,
  limits: ThresholdLimits,
): ThresholdState {
  const isUnder = (value: string): boolean => BigInt(value) < limits.threshold;
  const isBelow = isUnder(maximum);
  const belowSinceMs = isBelow ? belowSince(before, startMs) : null;
  const isCleared = BigInt(maximum) >= limits.cleared;
  const begins =
    limits.gracePeriodMs === 0
      ? isUnder(last) || (isUnder(minimum) && !isCleared)
      : belowSinceMs !== null && startMs - belowSinceMs >= limits.gracePeriodMs;
  return { isBelow, belowSinceMs, isActive: begins || (before.isActive && !isCleared) };
}

/**
 * A bucket does not tell when its first sample was taken, only that it was before the next bucket. So time counts from
 * the start of the second bucket that is below throughout; and not from before a reboot (negative times), since only the
 * wall clock tells how long that was.
 */
const belowSince = ({ isBelow, belowSinceMs }: ThresholdState, startMs: number): number | null =>
  isBelow ? (belowSinceMs ?? Math.max(startMs, 0)) : null;

/** One reading of a node's disks. */
type Reading = Pick<DiskStats, 'id' | 'takenAt' | 'filesystems'>;

/** What is asked for, or the rule by which the signal removes nothing. */
export type Assumed =
  | Met
  | { readonly kind: 'nothing'; readonly rule: KeptRule; readonly reason: string }
  | { readonly kind: 'doubt'; readonly doubt: KeepingDoubt };

/**
 * What an eviction signal would order while its thresholds are met, whether they are or not: for a plan that somebody
 * asks for. The thresholds in force, the actions of the layout and the target are those of a real reclaim.
 */
export function assumedMet(signal: EvictionSignal, reading: Reading, policy: Policy): Assumed {
  if (!policy.forcedGC) return nothing('M16', FORCED_GC_OFF);
  const layout = layoutOf(reading.filesystems);
  if (layout === null) return UNKNOWN_LAYOUT;
  const thresholds = thresholdsInForce(policy.evictionThresholds, layout).filter(
    (threshold) => threshold.signal === signal,
  );
  if (thresholds.length === 0) return nothing('J9', `policy ${policy.name} has no threshold for ${signal}`);
  const observation = observeReading(reading, WATCHED[signal]);
  if (observation.kind === 'doubt') return observation;
  if (observation.kind === 'not-counted')
    return nothing('J8', `${WATCHED[signal].filesystem} does not count its inodes`);
  const found = thresholds.map((threshold) =>
    reclaimOf(threshold, observation, { eventId: reading.id, policy, layout }),
  );
  return strictest(found, reading);
}

const nothing = (rule: KeptRule, reason: string): Assumed => ({ kind: 'nothing', rule, reason });

const UNKNOWN_LAYOUT: Assumed = {
  kind: 'doubt',
  doubt: {
    rule: 'J3',
    message:
      'not all of nodefs, imagefs and containerfs could be read, so it is not known what frees space of which',
  },
};

/** The actions are those of the signal, so either all of its thresholds have some or none has. */
function strictest(found: readonly Finding[], reading: Reading): Assumed {
  const met = chosen(
    found.filter((finding) => finding.kind === 'met'),
    reading,
  );
  if (met !== null) return met;
  return nothing(
    'J17',
    found.map((finding) => (finding.kind === 'not-met' ? finding.reason : '')).join('; '),
  );
}
