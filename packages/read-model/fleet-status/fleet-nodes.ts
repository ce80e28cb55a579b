import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../../schemas/events/filesystem.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { FleetNode, FleetNodes, FleetNodeWarning } from '../../../schemas/reports/fleet-nodes.ts';
import { believeUsage, usagePercent } from '../../decision/thresholds/filesystem-usage.ts';
import {
  isLasting,
  type NodePressure,
  pressureOf,
  pressureWarning,
  selectedFor,
  UNRELIEVED_FOR_MS,
} from '../../fleet-watch/node-pressure.ts';
import {
  anomaliesOf,
  anomalyText,
  clustersNamedBy,
  SILENT_AFTER_MS,
  strayText,
} from '../../fleet-watch/node-track.ts';
import { type StrayCluster, strayClusters } from '../../fleet-watch/stray-clusters.ts';
import { type ReportingNode, type ReportingNodesNeeds, readReportingNodes } from './reporting-nodes.ts';
import { readUnrelieved } from './unrelieved-nodes.ts';

/** What one node's newest statistics say under the policies, whoever else is there and whatever the time is. */
export interface KnownNode extends Omit<FleetNode, 'isSilent' | 'warnings'> {
  readonly anomalies: readonly FleetNodeWarning[];
  /** What counts of a node that is heard; `null` where it met no threshold lately. */
  readonly pressure: NodePressure | null;
}

/** When a reclaim last ended above its target, by `<cluster>/<node>`: epoch milliseconds by the log's clock. */
export type UnrelievedNodes = ReadonlyMap<string, number>;

/** What is known of each node, in the order of their names. */
export async function readFleetNodes(
  needs: ReportingNodesNeeds,
  policies: PolicySet,
  signal: AbortSignal,
): Promise<FleetNodes> {
  const { log, nowMs } = needs;
  const { nodes, unreadable } = await readReportingNodes(needs, signal);
  const known = [...nodes.values()].map((node) => knownNode(node, policies));
  const pressed = new Set(
    known.filter(({ pressure }) => pressure !== null).map((node) => nodes.get(nodeKey(node))?.partition ?? 0),
  );
  const unrelieved = await readUnrelieved(log, { partitions: [...pressed], nowMs }, signal);
  return { ...fleetOf(known, { policies, nowMs, unrelieved }), unreadable };
}

/** What is known beside the nodes. */
export interface Known {
  readonly policies: PolicySet;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly unrelieved: UnrelievedNodes;
}

/** The same of nodes of which that is known already. */
export function fleetOf(
  known: readonly KnownNode[],
  { policies, nowMs, unrelieved }: Known,
): Omit<FleetNodes, 'unreadable'> {
  const readAtMs = known.reduce((latestMs, { heardMs }) => Math.max(latestMs, heardMs), nowMs);
  const strays = straysOf(known, policies);
  const nodes = known
    .toSorted((a, b) => compareText(nodeKey(a), nodeKey(b)))
    .map((node) =>
      fleetNode(node, {
        stray: strays.get(node.cluster),
        readAtMs,
        unrelievedAtMs: unrelieved.get(nodeKey(node)) ?? null,
      }),
    );
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
    anomalies: anomaliesOf(track, heardMs).map((anomaly) => ({
      kind: anomaly.kind,
      message: anomalyText(anomaly),
    })),
    pressure: pressureOf(stats, policies),
  };
}

interface Surroundings {
  readonly stray: StrayCluster | undefined;
  readonly readAtMs: number;
  readonly unrelievedAtMs: number | null;
}

function fleetNode(known: KnownNode, around: Surroundings): FleetNode {
  const {
    cluster,
    node,
    nodeInstance,
    bootId,
    heardMs,
    filesystems,
    anomalies: _,
    pressure: __,
    ...rest
  } = known;
  const isSilent = around.readAtMs - heardMs > SILENT_AFTER_MS;
  const warnings = warningsOf(known, around, isSilent);
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

function warningsOf(known: KnownNode, around: Surroundings, isSilent: boolean): FleetNodeWarning[] {
  const { anomalies, filesystems } = known;
  const { stray } = around;
  return [
    ...anomalies,
    ...(stray ? [{ kind: 'stray-cluster', message: strayText(stray) } as const] : []),
    ...(isSilent ? [SILENT] : pressureWarnings(known, around)),
    ...(filesystems.imagefs === null ? [NO_READING] : []),
  ];
}

/** A reclaim that missed its target is told at once, and the readings tell it once it has lasted. */
function pressureWarnings(
  known: KnownNode,
  { readAtMs, unrelievedAtMs }: Surroundings,
): readonly FleetNodeWarning[] {
  const { pressure } = known;
  if (pressure === null) return [];
  const wasMissed =
    pressure.unrelievedMs !== null &&
    unrelievedAtMs !== null &&
    readAtMs - unrelievedAtMs <= UNRELIEVED_FOR_MS;
  return wasMissed || isLasting(pressure) ? [pressureWarning(pressure, known, wasMissed)] : [];
}
