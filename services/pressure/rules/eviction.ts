import { clearedAt, thresholdAt } from '../../../packages/decision/thresholds/eviction-bars.ts';
import { thresholdsInForce, WATCHED } from '../../../packages/decision/thresholds/eviction-signals.ts';
import { believeUsage } from '../../../packages/decision/thresholds/filesystem-usage.ts';
import { actionsFor, type Layout, layoutOf } from '../../../packages/decision/thresholds/layout.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../../schemas/events/filesystem.ts';
import type { ReclaimCause } from '../../../schemas/events/reclaim.ts';
import type { Amount, EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type Bars, isMet } from './met-over-time.ts';
import { type Observed, observe } from './observation.ts';
import { type Finding, notMet } from './signal.ts';

export const FORCED_GC_OFF = 'M16: forced garbage collection is switched off';

/** The eviction thresholds of the kubelet, which force garbage collection (J). */
export function evictionThresholds(stats: DiskStats, policy: Policy): readonly Finding[] {
  if (policy.evictionThresholds.length === 0) return [];
  if (!policy.forcedGC) return [notMet(FORCED_GC_OFF)];
  const layout = layoutOf(stats.filesystems);
  if (layout === null) return unreadable(stats);
  const node = { stats, policy, layout };
  const findings = thresholdsInForce(policy.evictionThresholds, layout).map((one) => find(one, node));
  const told = findings.filter((finding) => finding !== null);
  return told.length > 0 ? told : [notMet('no eviction threshold is met')];
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
  const bars = barsOf(threshold, observation);
  const isNowMet = isMet(observation.free, history, { bars, nowMs: stats.takenAt.sinceBootMs });
  return isNowMet ? reclaimOf(threshold, observation, { eventId: stats.id, policy, layout }) : null;
}

/** What a threshold orders while it is met. */
export function reclaimOf(
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
  const target = { ...watched, atLeast: String(barsOf(threshold, observation).cleared) };
  const reason = `${sentence}: ${target.resource} of ${target.filesystem} shall be at least ${target.atLeast}`;
  return { kind: 'met', isForced: true, cause, target, actions, step, reason };
}

const barsOf = (threshold: EvictionThreshold, { capacity }: Observed): Bars => ({
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
