import {
  conclude,
  excessCount,
  excessOf,
  isTerminated,
  type PodCircumstances,
  type PodSettings,
  podSettingsOf,
} from '../../../packages/deciders/pod-gc/rules/conclude.ts';
import { Approvals } from '../../../packages/decision/approvals.ts';
import type { NodeFacts, PodFacts } from '../../../packages/kube-api/pods.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import {
  MAX_POD_CANDIDATES,
  type PodCandidate,
  type PodNode,
  type Pods,
} from '../../../schemas/events/pods.ts';
import { Mirror } from './mirror.ts';
import { NODE_RESOURCE, type ObservedObject, POD_RESOURCE } from './observed-object.ts';
import type { AgentParts } from './ports.ts';
import { HoldsWatch, LONG_FACT_CHARACTERS, publishUntilDone } from './publish.ts';

interface PodPublishing {
  readonly parts: AgentParts;
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly watch: PodWatch;
  /** Whether anything may be published (cluster I10). */
  readonly isReady: () => boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: () => boolean;
}

/**
 * As often as upstream looks (cluster J1, N10).
 * @limit Period in which pods are checked, as upstream.
 */
const LOOK_EVERY_MS = 20_000;
/** How soon it is looked again while nothing can be concluded, or where something else may be decided. */
const WAIT_MS = 1_000;

/** Without a policy all that could be called for is told, but for those that ended: how many may stay is not known. */
const WITHOUT_POLICY: PodSettings = {
  profile: 'kubernetes',
  terminatedPodGcThreshold: 0,
  mostOnMissingNodes: 0,
  holdsPods: false,
  keep: { namespaces: new Set(), kinds: new Set() },
  approved: new Approvals([]),
};

/** Tells which pods may have to go, until the signal aborts. */
export async function publishPods(publishing: PodPublishing, signal: AbortSignal): Promise<void> {
  const { parts } = publishing;
  const told = new ToldPods();
  const holds = new HoldsWatch();
  let lookAtMs = parts.nowMs();
  for (let seq = 0; !signal.aborted; ) {
    const instant = parts.connection.clock.instantAt(parts.nowMs());
    if (isOtherwise(publishing, holds, instant)) {
      told.forget();
      lookAtMs = parts.nowMs();
    }
    if (parts.nowMs() >= lookAtMs) {
      const found = factOf(publishing, told, { instant, seq });
      lookAtMs = parts.nowMs() + pauseAfter(found);
      if (typeof found !== 'string') {
        seq++;
        await publishUntilDone(parts, found, signal);
      }
    }
    await parts.sleep(WAIT_MS, signal);
  }
}

/** Whether something else may be decided of what was told. An approval ends no later than its time, whatever the clock showed. */
const isOtherwise = (
  { parts, identity }: PodPublishing,
  holds: HoldsWatch,
  instant: ClusterInstant | null,
): boolean =>
  instant !== null &&
  holds.isChanged(parts.holds(identity, instant.serverMs + instant.spreadMs), parts.nowMs());

type Found = Pods | 'nothing-known' | 'no-news';

const pauseAfter = (found: Found): number => (found === 'nothing-known' ? WAIT_MS : LOOK_EVERY_MS);

interface Now {
  /** `null` while the API server's time is not known. */
  readonly instant: ClusterInstant | null;
  readonly seq: number;
}

function factOf(
  { parts, identity, watch, isReady, wentBack }: PodPublishing,
  told: ToldPods,
  { instant, seq }: Now,
): Found {
  if (instant === null || !isReady()) return 'nothing-known';
  const record = parts.policy();
  const isRestored = wentBack();
  const look = watch.look(record === null ? WITHOUT_POLICY : podSettingsOf(record.policy, []), isRestored);
  if (look === null) return 'nothing-known';
  const news = told.take(look.due, parts.nowMs(), isRestored);
  if (news.length === 0) return 'no-news';
  const { cluster, clusterInstance, session } = identity;
  return {
    type: 'fleetgc.cluster.pods',
    version: 1,
    id: parts.newId(),
    cluster,
    clusterInstance,
    session,
    seq,
    takenAt: instant,
    totals: look.totals,
    wentBack: isRestored,
    candidates: [...news],
  };
}

export type PodTotals = Pods['totals'];

/** All pods and nodes at one moment. */
interface PodLook {
  readonly totals: PodTotals;
  /** What may have to go, each once, in the order of the rules (cluster J1, J10). */
  readonly due: readonly PodCandidate[];
}

interface PodWatchOptions {
  readonly isKeptNamespace: (namespace: string) => boolean;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

const COUNT_HOLDS_MS = 1_000;

interface PlacedPod {
  readonly row: PodRow;
  readonly node: PodNode;
}

/** The pods and nodes of a cluster as its lists and watches tell them, and which pods may have to go. */
export class PodWatch {
  readonly pods = new Mirror<PodRow>({ of: POD_RESOURCE, rowOf: podRow });
  readonly nodes = new Mirror<NodeRow>({ of: NODE_RESOURCE, rowOf: nodeRow });
  readonly #options: PodWatchOptions;
  readonly #missing = new MissingNodes();
  #counted: { readonly atMs: number; readonly totals: PodTotals | null } | null = null;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Since when pods name a node of that name, and there is none. */
  missingForMs(nodeName: string): number {
    return this.#missing.forMs(nodeName, this.#options.nowMs());
  }

  /** `null` while nothing may be concluded; nodes that were missing have to be missing anew then. */
  look(settings: PodSettings, wentBack: boolean): PodLook | null {
    const placed = this.#placed();
    if (placed === null) return null;
    const totals = this.#totalsOf(placed);
    const ended = excessCount(totals.terminated, settings) > 0 ? placed.filter(isEnded) : [];
    const excess = excessOf(ended.map(this.#candidate), totals.terminated, settings);
    const circumstances = { isExcess: false, onMissingNodes: totals.onMissingNodes, wentBack };
    const others = placed.filter(mayBeCalledFor).map(this.#candidate);
    const called = others.filter((pod) => isCalledFor(pod, settings, circumstances));
    return { totals, due: onceEach([...excess, ...called]) };
  }

  /** Of a moment ago: all pods are counted for it. `null` while nothing may be concluded. */
  totals(): PodTotals | null {
    const atMs = this.#options.nowMs();
    if (this.#counted === null || atMs - this.#counted.atMs >= COUNT_HOLDS_MS) {
      const placed = this.#placed();
      this.#counted = { atMs, totals: placed && this.#totalsOf(placed) };
    }
    return this.#counted.totals;
  }

  /** Every pod with what is known of its node. */
  #placed(): readonly PlacedPod[] | null {
    if (!this.pods.isSynced || !this.nodes.isSynced) {
      this.#missing.forget();
      return null;
    }
    const nodes = this.#nodesByName();
    const rows = [...this.pods.rows()];
    const missing = rows.filter(({ nodeName }) => nodeName !== '' && !nodes.has(nodeName));
    const nowMs = this.#options.nowMs();
    this.#missing.note(new Set(missing.map(({ nodeName }) => nodeName)), nowMs);
    return rows.map((row) => ({ row, node: this.#nodeOf(row, nodes, nowMs) }));
  }

  #nodeOf({ nodeName: name }: PodRow, nodes: ReadonlyMap<string, NodeRow>, nowMs: number): PodNode {
    if (name === '') return NO_NODE;
    const node = nodes.get(name);
    if (node === undefined)
      return { state: 'missing', name, missingForMs: Math.floor(this.#missing.forMs(name, nowMs)) };
    const { isReady, isOutOfService } = node;
    return { state: 'there', name, isReady, isOutOfService };
  }

  #totalsOf(placed: readonly PlacedPod[]): PodTotals {
    const nodes = this.#nodesByName();
    const isReplaced = ({ row }: PlacedPod): boolean => {
      const node = nodes.get(row.nodeName);
      return node !== undefined && isOfEarlierNode(row, node);
    };
    return {
      pods: this.pods.size,
      nodes: this.nodes.size,
      terminated: placed.filter(isEnded).length,
      onMissingNodes: placed.filter(({ node }) => node.state === 'missing').length,
      onReplacedNodes: placed.filter(isReplaced).length,
    };
  }

  #nodesByName(): ReadonlyMap<string, NodeRow> {
    return new Map([...this.nodes.rows()].map((node) => [node.name, node]));
  }

  readonly #candidate = ({ row, node }: PlacedPod): PodCandidate =>
    podCandidate(row, node, this.#options.isKeptNamespace(row.namespace));
}

const NO_NODE: PodNode = { state: 'none' };

const isEnded = ({ row }: PlacedPod): boolean => isTerminated(row);

/** Of most pods it is plain that nothing calls for them. */
const mayBeCalledFor = ({ row, node }: PlacedPod): boolean =>
  row.deletionTimestamp !== null || node.state === 'missing';

const isCalledFor = (pod: PodCandidate, settings: PodSettings, circumstances: PodCircumstances): boolean =>
  conclude(pod, settings, circumstances).kind !== 'keep';

const onceEach = (pods: readonly PodCandidate[]): readonly PodCandidate[] => [
  ...new Map(pods.map((pod) => [pod.object.uid, pod])).values(),
];

/** What is kept of each pod. */
interface PodRow extends PodFacts {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp: string | null;
  readonly finalizers: readonly string[];
  readonly keep: boolean;
}

/** `null` for a pod of which nothing may be concluded. */
function podRow(kind: ResourceKind, object: ObservedObject): PodRow | null {
  const { namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep, pod } = object;
  if (pod === undefined || pod === null) return null;
  return { ...pod, kind, namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep };
}

/** What is kept of each node. */
interface NodeRow extends NodeFacts {
  readonly name: string;
}

/** A node of which nothing can be read is there, and holds its pods. */
const UNREADABLE_NODE: NodeFacts = { isReady: true, isOutOfService: false, createdAtMs: null };

const nodeRow = (_: ResourceKind, { name, node }: ObservedObject): NodeRow => ({
  ...(node ?? UNREADABLE_NODE),
  name,
});

/** Bound before the node of that name was there: an earlier one had it (cluster J12). */
const isOfEarlierNode = ({ boundAtMs }: PodRow, { createdAtMs }: NodeRow): boolean =>
  boundAtMs !== null && createdAtMs !== null && boundAtMs < createdAtMs;

function podCandidate(row: PodRow, node: PodNode, isInKeptNamespace: boolean): PodCandidate {
  const { kind, namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep } = row;
  const { phase, isEvicted, createdAtMs, graceSeconds } = row;
  return {
    object: {
      ...kind,
      namespace,
      name,
      uid,
      resourceVersion,
      deletionTimestamp,
      finalizers: [...finalizers],
      keptBy: keptBy(keep, isInKeptNamespace),
    },
    phase,
    isEvicted,
    createdAtMs,
    graceSeconds,
    node,
  };
}

const keptBy = (keep: boolean, isInKeptNamespace: boolean): PodCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return isInKeptNamespace ? 'namespace' : null;
};

/** Since when nodes are missing that pods name (cluster J6). */
class MissingNodes {
  readonly #sinceMs = new Map<string, number>();

  /** The names that are missing now; the others are back, or nobody names them any more. */
  note(names: ReadonlySet<string>, nowMs: number): void {
    for (const name of this.#sinceMs.keys()) if (!names.has(name)) this.#sinceMs.delete(name);
    for (const name of names) if (!this.#sinceMs.has(name)) this.#sinceMs.set(name, nowMs);
  }

  /** 0 for one that is not known to be missing. */
  forMs(name: string, nowMs: number): number {
    const sinceMs = this.#sinceMs.get(name);
    return sinceMs === undefined ? 0 : nowMs - sinceMs;
  }

  /** Nobody can tell: what is missing begins anew. */
  forget(): void {
    this.#sinceMs.clear();
  }
}

interface Told {
  readonly fingerprint: string;
  readonly atMs: number;
}

/** Told again after so long, so that what was lost or has expired heals. */
const AGAIN_AFTER_MS = 600_000;

/** Which pods were told, so that nothing is told again that has not changed. */
export class ToldPods {
  readonly #told = new Map<string, Told>();
  /** Whether the cluster counted as restored then. */
  #isRestored = false;

  get size(): number {
    return this.#told.size;
  }

  /** All of it is news again: something else may be decided of it. */
  forget(): void {
    this.#told.clear();
  }

  /**
   * Of those that are due what is news, which counts as told: as many as one fact holds, and of more those that wait longest. After a
   * restore, and when it is over, all of it is news.
   */
  take(due: readonly PodCandidate[], nowMs: number, isRestored: boolean): readonly PodCandidate[] {
    if (isRestored !== this.#isRestored) this.forget();
    this.#isRestored = isRestored;
    const uids = new Set(due.map(({ object }) => object.uid));
    for (const uid of this.#told.keys()) if (!uids.has(uid)) this.#told.delete(uid);
    const news = ofOneFact(
      due
        .filter((pod) => this.#isNews(pod, nowMs))
        .toSorted((one, other) => this.#toldAtMs(one) - this.#toldAtMs(other)),
    );
    for (const pod of news) this.#told.set(pod.object.uid, { fingerprint: fingerprintOf(pod), atMs: nowMs });
    return news;
  }

  #isNews(pod: PodCandidate, nowMs: number): boolean {
    const told = this.#told.get(pod.object.uid);
    return (
      told === undefined || told.fingerprint !== fingerprintOf(pod) || nowMs - told.atMs >= AGAIN_AFTER_MS
    );
  }

  #toldAtMs({ object }: PodCandidate): number {
    return this.#told.get(object.uid)?.atMs ?? -1;
  }
}

function ofOneFact(pods: readonly PodCandidate[]): readonly PodCandidate[] {
  const taken: PodCandidate[] = [];
  let characters = 0;
  for (const pod of pods) {
    if (taken.length >= MAX_POD_CANDIDATES || characters >= LONG_FACT_CHARACTERS) break;
    taken.push(pod);
    characters += JSON.stringify(pod).length;
  }
  return taken;
}

/** Differs when a decision may differ: a newer resourceVersion alone is no news, nor that a node is missing for longer. */
function fingerprintOf({ object, phase, graceSeconds, node }: PodCandidate): string {
  const { deletionTimestamp, finalizers, keptBy } = object;
  const place = node.state === 'missing' ? [node.state, node.name] : node;
  return JSON.stringify([phase, graceSeconds, deletionTimestamp, finalizers, keptBy, place]);
}
