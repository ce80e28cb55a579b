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

/** What is known of each node, in the order of their names. */
export function fleetNodes(
  { nodes: reporting, unreadable }: ReportingNodes,
  policies: PolicySet,
  nowMs: number,
): FleetNodes {
  const newestMs = [...reporting.values()].map(({ track }) => track.last.loggedAtMs);
  const readAtMs = newestMs.reduce((a, b) => Math.max(a, b), nowMs);
  const strays = straysOf(reporting, policies);
  const nodes = [...reporting]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, node]) => fleetNode(node, { policies, strays, readAtMs }));
  return { type: 'fleetgc.nodes', version: 1, readAtMs, unreadable, nodes };
}

function straysOf(
  reporting: ReportingNodes['nodes'],
  policies: PolicySet,
): ReadonlyMap<string, StrayCluster> {
  const byCluster = Map.groupBy(reporting.values(), ({ stats }) => stats.cluster);
  const nodesOf = new Map([...byCluster].map(([cluster, { length }]) => [cluster, length]));
  return new Map(strayClusters(nodesOf, clustersNamedBy(policies)).map((stray) => [stray.cluster, stray]));
}

interface Fleet {
  readonly policies: PolicySet;
  readonly strays: ReadonlyMap<string, StrayCluster>;
  readonly readAtMs: number;
}

function fleetNode(reporting: ReportingNode, fleet: Fleet): FleetNode {
  const { stats, track } = reporting;
  const { cluster, node, nodeInstance, nodeLabels, takenAt, fleetgcVersion } = stats;
  const heardMs = track.last.loggedAtMs;
  const paused = selectPolicy(fleet.policies, stats);
  return {
    cluster,
    node,
    nodeInstance,
    bootId: takenAt.bootId,
    heardMs,
    isSilent: fleet.readAtMs - heardMs > SILENT_AFTER_MS,
    filesystems: {
      nodefs: useOf(stats, 'nodefs'),
      imagefs: useOf(stats, 'imagefs'),
      containerfs: useOf(stats, 'containerfs'),
    },
    nodeLabels,
    policy: policyOf(stats, fleet.policies),
    pausedBecause: paused.kind === 'paused' ? paused.pause.reason : null,
    versions: { fleetgc: fleetgcVersion ?? null },
    warnings: warningsOf(reporting, fleet),
  };
}

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

function warningsOf(
  { stats, track }: ReportingNode,
  { policies, strays, readAtMs }: Fleet,
): FleetNodeWarning[] {
  const heardMs = track.last.loggedAtMs;
  const stray = strays.get(stats.cluster);
  return [
    ...anomaliesOf(track, heardMs).map((anomaly) => ({ kind: anomaly.kind, message: anomalyText(anomaly) })),
    ...(stray ? [{ kind: 'stray-cluster', message: strayText(stray) } as const] : []),
    ...(readAtMs - heardMs > SILENT_AFTER_MS
      ? [
          {
            kind: 'silent',
            message: 'it is not heard any more: is the node up, and does fleetgc node run there?',
          } as const,
        ]
      : pressureWarnings(stats, policies)),
    ...(useOf(stats, 'imagefs') === null
      ? [
          {
            kind: 'no-reading',
            message: 'the filesystem of its images cannot be read, so nothing goes there',
          } as const,
        ]
      : []),
  ];
}

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
