import { conclude, type PodCircumstances } from '../../../../packages/deciders/pod-gc/rules/conclude.ts';
import { excessCount, excessOf } from '../../../../packages/deciders/pod-gc/rules/excess.ts';
import { isTerminated } from '../../../../packages/deciders/pod-gc/rules/pod-state.ts';
import type { PodSettings } from '../../../../packages/deciders/pod-gc/rules/settings.ts';
import type { PodCandidate, PodNode, Pods } from '../../../../schemas/events/pods.ts';
import { Mirror } from '../watching/mirror.ts';
import { NODE_RESOURCE, POD_RESOURCE } from '../watching/observed-object.ts';
import { MissingNodes } from './missing-nodes.ts';
import { isOfEarlierNode, type NodeRow, nodeRow, type PodRow, podCandidate, podRow } from './pod-row.ts';

export type PodTotals = Pods['totals'];

/** All pods and nodes at one moment. */
export interface PodLook {
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
