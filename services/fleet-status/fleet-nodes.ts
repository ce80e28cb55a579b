import { believeUsage, usagePercent } from '../../packages/decision/thresholds/filesystem-usage.ts';
import {
  anomaliesOf,
  anomalyText,
  clustersNamedBy,
  SILENT_AFTER_MS,
  strayText,
} from '../../packages/fleet-watch/node-track.ts';
import { type StrayCluster, strayClusters } from '../../packages/fleet-watch/stray-clusters.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type { PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { FleetNode, FleetNodes, FleetNodeWarning } from '../../schemas/reports/fleet-nodes.ts';
import { lastingPressure } from './lasting-pressure.ts';
import type { ReportingNode, ReportingNodes } from './reporting-nodes.ts';

/** What one node's newest statistics say under the policies, whoever else is there and whatever the time is. */
export interface KnownNode extends Omit<FleetNode, 'isSilent' | 'warnings'> {
  readonly warnings: {
    readonly anomalies: readonly FleetNodeWarning[];
    /** Of a node that is heard. */
    readonly pressure: readonly FleetNodeWarning[];
  };
}

/** What is known of each node, in the order of their names. */
export const fleetNodes = (
  { nodes, unreadable }: ReportingNodes,
  policies: PolicySet,
  nowMs: number,
): FleetNodes => ({
  ...fleetOf(
    [...nodes.values()].map((node) => knownNode(node, policies)),
    policies,
    nowMs,
  ),
  unreadable,
});

/** The same of nodes of which that is known already. */
export function fleetOf(
  known: readonly KnownNode[],
  policies: PolicySet,
  nowMs: number,
): Omit<FleetNodes, 'unreadable'> {
  const readAtMs = known.reduce((latestMs, { heardMs }) => Math.max(latestMs, heardMs), nowMs);
  const strays = straysOf(known, policies);
  const nodes = known
    .toSorted((a, b) => compareText(nodeKey(a), nodeKey(b)))
    .map((node) => fleetNode(node, { stray: strays.get(node.cluster), readAtMs }));
  return { type: 'fleetgc.nodes', version: 1, readAtMs, nodes };
}

function straysOf(known: readonly KnownNode[], policies: PolicySet): ReadonlyMap<string, StrayCluster> {
  const byCluster = Map.groupBy(known, ({ cluster }) => cluster);
  const nodesOf = new Map([...byCluster].map(([cluster, { length }]) => [cluster, length]));
  return new Map(strayClusters(nodesOf, clustersNamedBy(policies)).map((stray) => [stray.cluster, stray]));
}

export function knownNode(
  { stats, track }: Pick<ReportingNode, 'stats' | 'track'>,
  policies: PolicySet,
): KnownNode {
  const { cluster, node, nodeInstance, nodeLabels, takenAt, fleetgcVersion } = stats;
  const heardMs = track.last.loggedAtMs;
  const paused = selectPolicy(policies, stats);
  return {
    cluster,
    node,
    nodeInstance,
    bootId: takenAt.bootId,
    heardMs,
    filesystems: {
      nodefs: useOf(stats, 'nodefs'),
      imagefs: useOf(stats, 'imagefs'),
      containerfs: useOf(stats, 'containerfs'),
    },
    nodeLabels,
    policy: policyOf(stats, policies),
    pausedBecause: paused.kind === 'paused' ? paused.pause.reason : null,
    versions: { fleetgc: fleetgcVersion ?? null },
    warnings: {
      anomalies: anomaliesOf(track, heardMs).map((anomaly) => ({
        kind: anomaly.kind,
        message: anomalyText(anomaly),
      })),
      pressure: pressureWarnings(stats, policies),
    },
  };
}

interface Surroundings {
  readonly stray: StrayCluster | undefined;
  readonly readAtMs: number;
}

function fleetNode(known: KnownNode, { stray, readAtMs }: Surroundings): FleetNode {
  const { cluster, node, nodeInstance, bootId, heardMs, filesystems, ...rest } = known;
  const isSilent = readAtMs - heardMs > SILENT_AFTER_MS;
  const warnings = warningsOf(known, { stray, isSilent });
  return { cluster, node, nodeInstance, bootId, heardMs, isSilent, filesystems, ...rest, warnings };
}

/** Those for which a policy holds, paused or not. */
export const nodesUnder = (name: string, nodes: readonly FleetNode[]): readonly FleetNode[] =>
  nodes.filter(({ policy }) => policy?.name === name);

function policyOf(stats: DiskStats, policies: PolicySet): FleetNode['policy'] {
  const record = selectedFor(stats, policies);
  if (record === null) return null;
  const { policy, policyVersion } = record;
  return { name: policy.name, policyVersion, mode: policy.mode };
}

/** Paused or not. */
function selectedFor(stats: DiskStats, policies: PolicySet): PolicyRecord | null {
  const selection = selectPolicy({ ...policies, pauses: [] }, stats);
  return selection.kind === 'policy' ? selection.record : null;
}

function useOf({ filesystems }: DiskStats, name: FilesystemName): FleetNode['filesystems']['imagefs'] {
  const believed = believeUsage(name, filesystems[name]);
  if (believed.kind === 'doubt') return null;
  const { capacityBytes, availableBytes } = believed.usage;
  return {
    usedPercent: Number(usagePercent(believed.usage)),
    capacityBytes: String(capacityBytes),
    availableBytes: String(availableBytes),
  };
}

const SILENT: FleetNodeWarning = {
  kind: 'silent',
  message: 'it is not heard any more: is the node up, and does fleetgc node run there?',
};
const NO_READING: FleetNodeWarning = {
  kind: 'no-reading',
  message: 'the filesystem of its images cannot be read, so nothing goes there',
};

const warningsOf = (
  { warnings: { anomalies, pressure }, filesystems }: KnownNode,
  { stray, isSilent }: { readonly stray: StrayCluster | undefined; readonly isSilent: boolean },
): FleetNodeWarning[] => [
  ...anomalies,
  ...(stray ? [{ kind: 'stray-cluster', message: strayText(stray) } as const] : []),
  ...(isSilent ? [SILENT] : pressure),
  ...(filesystems.imagefs === null ? [NO_READING] : []),
];

function pressureWarnings(stats: DiskStats, policies: PolicySet): FleetNodeWarning[] {
  const record = selectedFor(stats, policies);
  const lasting = record && lastingPressure(stats, record.policy);
  if (record === null || lasting === null) return [];
  const { name, mode } = record.policy;
  const met = `its ${lasting.filesystem} has met a threshold of policy ${name} for ${Math.floor(lasting.forMs / MINUTE_MS)} minutes or more`;
  if (mode === 'dry-run')
    return [
      { kind: 'above-threshold-dry-run', message: `${met}, and the policy says dry-run: nothing is removed` },
    ];
  const paused = selectPolicy(policies, stats).kind === 'paused';
  const why = paused
    ? 'a pause holds for it'
    : `fleetgc audit explain node/${nodeKey(stats)} tells what holds the space`;
  return [{ kind: 'above-threshold', message: `${met}: ${why}` }];
}
