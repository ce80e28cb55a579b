import type { Bucket, DiskStats } from '../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { Policy, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import {
  clearedAt,
  MAX_GAP_MS,
  thresholdAt,
  thresholdsInForce,
  WATCHED,
  type Watched,
} from '../decision/thresholds/eviction-signals.ts';
import {
  believeInodes,
  believeUsage,
  layoutOf,
  targetBytes,
  targetInodes,
  usagePercent,
  usedInodesPercent,
} from '../decision/thresholds/filesystem-usage.ts';
import { HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { counted } from '../text/counted.ts';

/**
 * A reclaim of several rounds is over long before.
 * @limit Time that a target is missed before `status` warns.
 */
const LASTING_MS = 15 * MINUTE_MS;
/** How far back returns are counted. */
const LATELY_MS = HOUR_MS;
/** So many times in that time are more than a busy node needs. */
const MOST_RETURNS = 3;
/** For so long a reclaim that ended above its target is told; later the readings tell it themselves. */
export const UNRELIEVED_FOR_MS = LASTING_MS;

/** What the readings of a node say of one threshold of its policy, in the two hours that nodes remember. */
export interface ThresholdPressure {
  readonly filesystem: FilesystemName;
  /** How long ago it was met, where the target was not reached since; `null` where it was, or nothing was met. */
  readonly unrelievedMs: number | null;
  /** How often it was met in the last hour, each time after the target had been reached. */
  readonly returns: number;
}

/** A node whose policy has a threshold that was met lately. */
export interface NodePressure extends ThresholdPressure {
  readonly policy: string;
  readonly mode: Policy['mode'];
  readonly isPaused: boolean;
}

/** Of the policy that holds for the node, paused or not; `null` where no threshold of it was met lately. */
export function pressureOf(stats: DiskStats, policies: PolicySet): NodePressure | null {
  const record = selectedFor(stats, policies);
  const worst = record && worstPressure(stats, record.policy);
  if (record === null || worst === null) return null;
  const { name, mode } = record.policy;
  return { ...worst, policy: name, mode, isPaused: selectPolicy(policies, stats).kind === 'paused' };
}

/** The policy that holds for the node, paused or not. */
export function selectedFor(stats: DiskStats, policies: PolicySet): PolicyRecord | null {
  const selection = selectPolicy({ ...policies, pauses: [] }, stats);
  return selection.kind === 'policy' ? selection.record : null;
}

/** Whether the readings alone are a reason to warn. */
export const isLasting = ({ unrelievedMs, returns }: ThresholdPressure): boolean =>
  (unrelievedMs ?? 0) >= LASTING_MS || returns >= MOST_RETURNS;

export const PRESSURE_WARNINGS = ['above-threshold', 'above-threshold-dry-run'] as const;

/** A warning of a node under pressure. `wasMissed`: a reclaim has ended above its target just now. */
export function pressureWarning(
  pressure: NodePressure,
  node: Pick<DiskStats, 'cluster' | 'node'>,
  wasMissed: boolean,
): { readonly kind: (typeof PRESSURE_WARNINGS)[number]; readonly message: string } {
  const { mode, isPaused } = pressure;
  const how = howText(pressure, wasMissed);
  if (mode === 'dry-run')
    return {
      kind: 'above-threshold-dry-run',
      message: `${how}, and the policy says dry-run: nothing is removed`,
    };
  const why = isPaused
    ? 'a pause holds for it'
    : `fleetgc audit explain node/${nodeKey(node)} tells what holds the space`;
  return { kind: 'above-threshold', message: `${how}: ${why}` };
}

function howText(pressure: NodePressure, wasMissed: boolean): string {
  const { filesystem, unrelievedMs, returns, policy } = pressure;
  const minutes = Math.floor((unrelievedMs ?? 0) / MINUTE_MS);
  if ((unrelievedMs ?? 0) >= LASTING_MS)
    return `its ${filesystem} met a threshold of policy ${policy} ${minutes} minutes ago and has not reached the target since`;
  if (wasMissed)
    return `a reclaim has ended above its target: ${filesystem} still has less free than policy ${policy} wants`;
  return `its ${filesystem} has met a threshold of policy ${policy} ${counted(returns, 'time')} in the last hour, each time after the target was reached`;
}

function worstPressure(stats: DiskStats, policy: Policy): ThresholdPressure | null {
  const [worst] = thresholdsOf(stats, policy)
    .map((threshold) => stateOf(threshold, stats))
    .filter(({ unrelievedMs, returns }) => unrelievedMs !== null || returns >= MOST_RETURNS)
    .toSorted((a, b) => (b.unrelievedMs ?? -1) - (a.unrelievedMs ?? -1) || b.returns - a.returns);
  return worst ?? null;
}

interface WatchedThreshold extends Watched {
  readonly isMet: (free: bigint) => boolean;
  /** Where a reclaim for it stops. */
  readonly enough: bigint;
  /** In the newest reading. */
  readonly free: bigint;
}

const thresholdsOf = (stats: DiskStats, policy: Policy): readonly WatchedThreshold[] => [
  ...usageThresholds(stats, policy),
  ...evictionThresholdsOf(stats, policy),
];

function usageThresholds(
  { filesystems: { imagefs } }: DiskStats,
  policy: Policy,
): readonly WatchedThreshold[] {
  const { imageGCHighThresholdPercent, imageGCAvailable, imageGCInodes } = policy;
  const bytes = believeUsage('imagefs', imagefs);
  const nodes = believeInodes('imagefs', imagefs);
  const thresholds: WatchedThreshold[] = [];
  if (bytes.kind === 'usage') {
    const { capacityBytes, availableBytes: free } = bytes.usage;
    const watched = { filesystem: 'imagefs', resource: 'availableBytes', free } as const;
    const high = BigInt(imageGCHighThresholdPercent);
    thresholds.push({
      ...watched,
      isMet: (availableBytes) => usagePercent({ capacityBytes, availableBytes }) >= high,
      enough: targetBytes(bytes.usage, policy),
    });
    if (imageGCAvailable !== null)
      thresholds.push({
        ...watched,
        isMet: (availableBytes) => availableBytes < BigInt(imageGCAvailable.startBelowBytes),
        enough: BigInt(imageGCAvailable.untilBytes),
      });
  }
  if (nodes.kind === 'inodes' && imageGCInodes !== null) {
    const { inodes, free } = nodes.inodes;
    const high = BigInt(imageGCInodes.highThresholdPercent);
    thresholds.push({
      filesystem: 'imagefs',
      resource: 'inodesFree',
      free,
      isMet: (left) => usedInodesPercent({ inodes, free: left }) >= high,
      enough: targetInodes(nodes.inodes, imageGCInodes),
    });
  }
  return thresholds;
}

function evictionThresholdsOf(
  { filesystems }: DiskStats,
  { evictionThresholds }: Policy,
): readonly WatchedThreshold[] {
  const layout = layoutOf(filesystems);
  if (layout === null) return [];
  return thresholdsInForce(evictionThresholds, layout).flatMap((threshold): WatchedThreshold[] => {
    const watched = WATCHED[threshold.signal];
    const amounts = amountsOf(watched, filesystems);
    if (amounts === null) return [];
    const { capacity, free } = amounts;
    const least = thresholdAt(threshold, capacity);
    return [{ ...watched, free, isMet: (left) => left < least, enough: clearedAt(threshold, capacity) }];
  });
}

function amountsOf(
  { filesystem, resource }: Watched,
  filesystems: DiskStats['filesystems'],
): { readonly capacity: bigint; readonly free: bigint } | null {
  if (resource === 'availableBytes') {
    const bytes = believeUsage(filesystem, filesystems[filesystem]);
    if (bytes.kind === 'doubt') return null;
    return { capacity: bytes.usage.capacityBytes, free: bytes.usage.availableBytes };
  }
  const nodes = believeInodes(filesystem, filesystems[filesystem]);
  return nodes.kind === 'doubt' ? null : { capacity: nodes.inodes.inodes, free: nodes.inodes.free };
}

/** Folds over the readings up to the newest. Times of another boot count for nothing, and neither does what was before a gap. */
function stateOf(
  { filesystem, resource, free, isMet, enough }: WatchedThreshold,
  { history, takenAt }: DiskStats,
): ThresholdPressure {
  const nowMs = takenAt.sinceBootMs;
  const newest: Bucket = [nowMs, String(free), String(free), String(free)];
  let beforeMs = Number.NEGATIVE_INFINITY;
  let sinceMs: number | null = null;
  let returns = 0;
  for (const [atMs, least, most, last] of [
    ...history[filesystem][resource].filter(([startMs]) => startMs >= 0),
    newest,
  ]) {
    if (atMs - beforeMs > MAX_GAP_MS) sinceMs = null;
    beforeMs = atMs;
    const begins = sinceMs === null && isMet(BigInt(least));
    if (begins) {
      sinceMs = atMs;
      if (nowMs - atMs <= LATELY_MS) returns += 1;
    }
    // Where a bucket does not tell which of both came first, its last value does.
    if (BigInt(begins ? last : most) >= enough) sinceMs = null;
  }
  return { filesystem, unrelievedMs: sinceMs === null ? null : nowMs - sinceMs, returns };
}
