import type { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { DiskStats, type DiskStatsHead } from '../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../schemas/events/result.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { POOL_LABEL, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type {
  DashboardFleet,
  DashboardNews,
  DashboardNodes,
  NodeState,
} from '../../schemas/reports/dashboard.ts';
import type {
  FleetNode,
  FleetNodes,
  FleetNodeWarning,
  UnlocatedNode,
} from '../../schemas/reports/fleet-nodes.ts';
import { believeUsage, usagePercent } from '../decision/thresholds/filesystem-usage.ts';
import type { UnlocatedSubject } from './latest-facts.ts';
import {
  isLasting,
  type NodePressure,
  pressureOf,
  pressureWarning,
  selectedFor,
  UNRELIEVED_FOR_MS,
} from './node-pressure.ts';
import {
  anomaliesOf,
  anomalyText,
  clustersNamedBy,
  type NodeTrack,
  SILENT_AFTER_MS,
  type StrayCluster,
  strayClusters,
  strayText,
  track,
} from './node-track.ts';
import { type ReportingNodesNeeds, readReportingNodes, readUnrelieved } from './reporting-nodes.ts';

/** What one node's newest statistics say under the policies, whoever else is there and whatever the time is. */
interface KnownNode extends Omit<FleetNode, 'isSilent' | 'warnings'> {
  readonly anomalies: readonly FleetNodeWarning[];
  /** What counts of a node that is heard; `null` where it met no threshold lately. */
  readonly pressure: NodePressure | null;
}

/** When a reclaim last ended above its target, by `<cluster>/<node>`: epoch milliseconds by the log's clock. */
type UnrelievedNodes = ReadonlyMap<string, number>;

/** What is known of each node, in the order of their names. */
export async function readFleetNodes(
  needs: ReportingNodesNeeds,
  policies: PolicySet,
  signal: AbortSignal,
): Promise<FleetNodes> {
  const { log, nowMs } = needs;
  const { nodes, unreadable, unlocated } = await readReportingNodes(needs, signal);
  const known = [...nodes.values()].map(({ stats, track }) => knownNode(stats, track, policies));
  const pressed = new Set(
    known.filter(({ pressure }) => pressure !== null).map((node) => nodes.get(nodeKey(node))?.partition ?? 0),
  );
  const unrelieved = await readUnrelieved(log, { partitions: [...pressed], nowMs }, signal);
  const fleet = { ...fleetOf(known, { policies, nowMs, unrelieved }), unreadable };
  return unlocated.length === 0 ? fleet : { ...fleet, unlocated: unlocated.map(unlocatedNode) };
}

const UNLOCATED_TEXT: Readonly<Record<UnlocatedSubject['kind'], string>> = {
  'position-refused': 'its last report cannot be found, and somebody may hide it: see fleetgc audit verify',
  'fact-not-kept': 'it has stopped reporting, and its last report is no longer on the event log',
  'not-looked-up': 'it has stopped reporting, and its last report was not looked up',
};

/** A node of which nothing is known but that it was there. */
export function unlocatedNode({ key, kind, heardMs, why }: UnlocatedSubject): UnlocatedNode {
  const [cluster = '', node = ''] = key.split('/');
  return { cluster, node, heardMs, kind, message: unlocatedText(kind, why) };
}

/** Why nothing is known of a node or a cluster but that it was there. */
export const unlocatedText = (kind: UnlocatedSubject['kind'], why: string): string =>
  `${UNLOCATED_TEXT[kind]} (${why})`;

/** What is known beside the nodes. */
interface Known {
  readonly policies: PolicySet;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly unrelieved: UnrelievedNodes;
}

/** The same of nodes of which that is known already. */
function fleetOf(
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

function knownNode(stats: DiskStats, track: NodeTrack, policies: PolicySet): KnownNode {
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

/** Of so many nodes what is known is made anew before others have their turn. */
const NODES_AT_ONCE = 100;

/** The statistics of a node as they were stored. */
export function storedStats(db: DatabaseSync, node: string): DiskStats | null {
  const found = db.prepare('SELECT stats FROM nodes WHERE node = ?').get(node)?.stats;
  return found instanceof Uint8Array ? statsOf(found) : null;
}

const statsOf = (bytes: Uint8Array): DiskStats =>
  DiskStats.parse(JSON.parse(zstdDecompressSync(bytes).toString('utf8')));

type SightedNode = Pick<DiskStatsHead, 'cluster' | 'node' | 'nodeInstance' | 'takenAt'>;

/** What is known of all nodes, by the functions of `fleetgc nodes`. Of each no more is kept than is told. */
export class Fleet {
  readonly #db: DatabaseSync;
  readonly #known = new Map<string, KnownNode>();
  readonly #tracks = new Map<string, NodeTrack>();
  readonly #changed = new Set<string>();
  /** When a reclaim of a node last ended above its target. */
  readonly #unrelieved = new Map<string, number>();
  #policies: PolicySet;
  /** Records of disk statistics that nobody can read. */
  unreadable = 0;
  /** Nodes that fell silent before this began, and of which nothing else is known. */
  #unlocated: readonly UnlocatedSubject[] = [];
  /** When they were looked for. */
  #lookedMs = 0;

  constructor(db: DatabaseSync, policies: PolicySet) {
    this.#db = db;
    this.#policies = policies;
  }

  /** Takes disk statistics in the order of the log, of each node; what is older than what is known says nothing. */
  heard(stats: DiskStats, loggedAtMs: number): void {
    const now = this.sighted(stats, loggedAtMs);
    if (now === null) return;
    const key = nodeKey(stats);
    this.#known.set(key, knownNode(stats, now, this.#policies));
    this.#changed.add(key);
  }

  /** A node was heard, of which more follows. `null` for what is older than what is known. */
  sighted(head: SightedNode, loggedAtMs: number): NodeTrack | null {
    const key = nodeKey(head);
    const before = this.#tracks.get(key) ?? null;
    if (before !== null && loggedAtMs < before.last.loggedAtMs) return null;
    const { nodeInstance, takenAt } = head;
    const now = track(before, { nodeInstance, takenAt, loggedAtMs });
    this.#tracks.set(key, now);
    return now;
  }

  /** A reclaim ended above its target. Of a node that is not known nothing is kept. */
  unrelieved(event: PressureUnrelieved, loggedAtMs: number): void {
    const key = nodeKey(event);
    if (!this.#tracks.has(key) || loggedAtMs <= (this.#unrelieved.get(key) ?? 0)) return;
    this.#unrelieved.set(key, loggedAtMs);
    this.#changed.add(key);
  }

  /** What other policies make of nodes that were heard already. */
  async decidedBy(policies: PolicySet, breathe: () => Promise<void>): Promise<void> {
    this.#policies = policies;
    let made = 0;
    for (const key of [...this.#known.keys()]) {
      const stats = storedStats(this.#db, key);
      const known = this.#tracks.get(key);
      if (stats === null || known === undefined) continue;
      this.#known.set(key, knownNode(stats, known, policies));
      this.#changed.add(key);
      made += 1;
      if (made % NODES_AT_ONCE === 0) await breathe();
    }
  }

  /** Takes a node that was found as `fleetgc nodes` finds those that fell silent. */
  recalled(stats: DiskStats, known: NodeTrack): void {
    const key = nodeKey(stats);
    if (this.#known.has(key)) return;
    this.#tracks.set(key, known);
    this.#known.set(key, knownNode(stats, known, this.#policies));
    this.#changed.add(key);
  }

  /** Takes those that were looked for at this time, and of which nothing else is known. */
  notFound(unlocated: readonly UnlocatedSubject[], nowMs: number): void {
    this.#unlocated = unlocated;
    this.#lookedMs = nowMs;
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  get policies(): PolicySet {
    return this.#policies;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Lets go of nodes that were not heard since. */
  forgetBefore(ms: number): void {
    for (const [key, { last }] of this.#tracks)
      if (last.loggedAtMs < ms) {
        this.#known.delete(key);
        this.#tracks.delete(key);
        this.#unrelieved.delete(key);
      }
    this.#unlocated = this.#unlocated.filter(({ heardMs }) => (heardMs ?? this.#lookedMs) >= ms);
  }

  clear(): void {
    this.#known.clear();
    this.#tracks.clear();
    this.#unrelieved.clear();
    this.#changed.clear();
    this.unreadable = 0;
    this.#unlocated = [];
  }

  told(nowMs: number): FleetNodes {
    const known = { policies: this.#policies, nowMs, unrelieved: this.#unrelieved };
    const fleet = { ...fleetOf([...this.#known.values()], known), unreadable: this.unreadable };
    const unlocated = this.#unlocated.filter(({ key }) => !this.#known.has(key));
    return unlocated.length === 0 ? fleet : { ...fleet, unlocated: unlocated.map(unlocatedNode) };
  }

  /** The keys of those of which something is new since this was asked last. */
  takeChanged(): ReadonlySet<string> {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    return changed;
  }
}

/** Many look at once. */
const MADE_EVERY_MS = 1_000;

/** Every node, made for all who ask within a second. */
export class NodesTold {
  readonly #make: () => FleetNodes;
  readonly #nowMs: () => number;
  #made: { readonly atMs: number; readonly nodes: FleetNodes } | null = null;

  constructor(make: () => FleetNodes, nowMs: () => number) {
    this.#make = make;
    this.#nowMs = nowMs;
  }

  lately(): FleetNodes {
    const made = this.#made;
    return made !== null && this.#nowMs() - made.atMs < MADE_EVERY_MS ? made.nodes : this.now();
  }

  /** As they are at this moment. */
  now(): FleetNodes {
    const nodes = this.#make();
    this.#made = { atMs: this.#nowMs(), nodes };
    return nodes;
  }

  clear(): void {
    this.#made = null;
  }
}

/** A label with more values than this makes groups of single nodes. */
const MOST_GROUPS = 200;
const MOST_LABELS = 100;

/** By what nodes are put together; a label is named as `label:NAME`. */
export type Grouping = 'cluster' | 'pool' | 'policy' | `label:${string}`;

const NONE = '(none)';

export const groupOf = (node: FleetNode, grouping: Grouping): string => {
  switch (grouping) {
    case 'cluster':
      return node.cluster;
    case 'pool':
      return node.nodeLabels[POOL_LABEL] ?? NONE;
    case 'policy':
      return node.policy?.name ?? NONE;
    default:
      return labelOf(node, grouping.slice('label:'.length)) ?? NONE;
  }
};

/** What every object has by itself, such as `constructor`, is no label. */
const labelOf = ({ nodeLabels }: FleetNode, name: string): string | undefined =>
  Object.hasOwn(nodeLabels, name) ? nodeLabels[name] : undefined;

/** The worst of what can be said of a node. */
function stateOf({ warnings, pausedBecause, policy, isSilent }: FleetNode): NodeState {
  if (isSilent) return 'silent';
  if (warnings.some(({ kind }) => kind.startsWith('above-threshold'))) return 'pressure';
  if (warnings.length > 0) return 'warned';
  if (pausedBecause !== null) return 'paused';
  return policy === null ? 'keeps-all' : 'well';
}

/** What the page shows of a node, and hears anew when it changes. */
const shownOf = (node: FleetNode): Omit<DashboardNews['nodes'][number], 'cluster' | 'node'> => ({
  used: usedOf(node),
  state: stateOf(node),
  isPaused: node.pausedBecause !== null,
  hasPolicy: node.policy !== null,
});

const usedOf = ({ filesystems }: FleetNode): number | null => filesystems.imagefs?.usedPercent ?? null;

/** Every node, in columns: ten thousand of them are half a megabyte. */
export function fleetColumns({ nodes, readAtMs }: FleetNodes, grouping: Grouping): DashboardFleet {
  const clusters = new Positions();
  const groups = new Positions();
  const shown = nodes.map(shownOf);
  return {
    readAtMs,
    columns: {
      node: nodes.map(({ node }) => node),
      cluster: nodes.map(({ cluster }) => clusters.of(cluster)),
      group: nodes.map((node) => groups.of(groupOf(node, grouping))),
      used: shown.map(({ used }) => used),
      state: shown.map(({ state }) => state),
      isPaused: shown.map(({ isPaused }) => isPaused),
      hasPolicy: shown.map(({ hasPolicy }) => hasPolicy),
    },
    clusters: clusters.names(),
    groups: groups.names(),
    labels: labelsOf(nodes),
  };
}

/** Numbers names as they come. */
class Positions {
  readonly #positions = new Map<string, number>();

  of(name: string): number {
    const known = this.#positions.get(name) ?? this.#positions.size;
    this.#positions.set(name, known);
    return known;
  }

  names(): string[] {
    return [...this.#positions.keys()];
  }
}

function labelsOf(nodes: readonly FleetNode[]): string[] {
  const values = new Map<string, Set<string>>();
  for (const { nodeLabels } of nodes)
    for (const [name, value] of Object.entries(nodeLabels)) {
      const known = values.get(name) ?? new Set();
      if (known.size <= MOST_GROUPS) known.add(value);
      values.set(name, known);
    }
  return [...values]
    .filter(([, { size }]) => size <= MOST_GROUPS)
    .map(([name]) => name)
    .toSorted(compareText)
    .slice(0, MOST_LABELS);
}

/** The nodes of which something is new. */
export const newsOf = ({ nodes, readAtMs }: FleetNodes, changed: ReadonlySet<string>): DashboardNews => ({
  readAtMs,
  nodes: nodes
    .filter((node) => changed.has(nodeKey(node)))
    .map((node) => ({ cluster: node.cluster, node: node.node, ...shownOf(node) })),
});

/** A page of nodes, those behind a key. */
export function pageOfNodes(
  { nodes, readAtMs }: FleetNodes,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): DashboardNodes {
  const left = after === null ? nodes : nodes.filter((node) => compareText(nodeKey(node), after) > 0);
  const page = left.slice(0, limit);
  const last = page.at(-1);
  return { readAtMs, nodes: page, after: left.length > page.length && last ? nodeKey(last) : null };
}
