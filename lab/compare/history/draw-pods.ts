import { between, evenChoice, type Random, seededRandom } from '../../sim/random.ts';
import { type Weighted, weighted } from './draw-graph.ts';
import {
  FOREIGN_FINALIZER,
  type History,
  type Phase,
  type PlayedObject,
  type PlayedSpec,
  type PlayedStatus,
  type Step,
} from './history.ts';

const FEWEST_PODS = 20;
const MOST_PODS = 60;
/** Of so many seeds one is wild. */
const WILD_EVERY = 10;
/** Numbers of nodes that nobody ever makes. */
const NEVER_MADE = [900, 901];

/** The same for the same seed. */
export const drawPods = (seed: number): History => new Drawing(seed).history();

type Ready = Extract<PlayedStatus, { of: 'node' }>['ready'];
type Taint = Extract<PlayedSpec, { of: 'node' }>['taint'];

const READY: Weighted<Ready> = [
  [45, 'True'],
  [30, 'False'],
  [15, 'Unknown'],
  [10, null],
];
const TAINT: Weighted<Taint> = [
  [45, 'out-of-service'],
  [15, 'other'],
  [40, null],
];
const PHASE: Weighted<Phase> = [
  [45, 'Running'],
  [15, 'Pending'],
  [10, 'Unknown'],
  [15, 'Succeeded'],
  [15, 'Failed'],
];
const FINALIZERS: Weighted<readonly string[]> = [
  [70, []],
  [22, [FOREIGN_FINALIZER]],
  [4, ['orphan']],
  [4, [FOREIGN_FINALIZER, 'foregroundDeletion']],
];
/** Without a node a pod goes at once when it is deleted, unless finalizers hold it. */
const FINALIZERS_WITHOUT_NODE: Weighted<readonly string[]> = [
  [20, []],
  [70, [FOREIGN_FINALIZER]],
  [10, ['orphan']],
];
/** Where a pod is bound. */
const BOUND: Weighted<'node' | 'never-made' | 'nowhere'> = [
  [75, 'node'],
  [8, 'never-made'],
  [17, 'nowhere'],
];

type Deed =
  | 'delete'
  | 'delete-unscheduled'
  | 'tell'
  | 'release'
  | 'create'
  | 'node-goes'
  | 'node-returns'
  | 'node-changes';
const DEEDS: Weighted<Deed> = [
  [45, 'delete'],
  [15, 'delete-unscheduled'],
  [10, 'tell'],
  [8, 'release'],
  [12, 'create'],
  [15, 'node-goes'],
  [8, 'node-returns'],
  [10, 'node-changes'],
];

class Drawing {
  readonly #seed: number;
  readonly #random: Random;
  readonly #isWild: boolean;
  readonly #nodes: PlayedObject[] = [];
  readonly #pods: PlayedObject[] = [];
  readonly #gone = new Set<number>();
  /** What a burst has touched: what else is done to it in there could come before or after. */
  #touched = new Set<number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    this.#isWild = seed % WILD_EVERY === 0;
  }

  history(): History {
    const nodes = Array.from({ length: between(this.#random, 3, 7) }, () => this.#node());
    const pods = Array.from({ length: between(this.#random, FEWEST_PODS, MOST_PODS) }, () => this.#pod());
    // Where nodes go, pods wait for 40 s: so once in a history.
    const bursts = [this.#burst(12, 24, true), this.#burst(6, 12, false)];
    return {
      seed: this.#seed,
      isWild: this.#isWild,
      before: [...nodes, ...pods].map((object) => ({ do: 'create', object })),
      bursts: bursts.filter(({ length }) => length > 0),
    };
  }

  #bare(kind: 'node' | 'pod'): Pick<PlayedObject, 'id' | 'kind' | 'place' | 'references'> {
    const id = this.#nodes.length + this.#pods.length;
    return { id, kind, place: this.#random() < 0.85 ? 'home' : 'away', references: [] };
  }

  #node(): PlayedObject {
    const node: PlayedObject = {
      ...this.#bare('node'),
      finalizers: [],
      spec: { of: 'node', taint: weighted(this.#random, TAINT) },
      status: { of: 'node', ready: weighted(this.#random, READY) },
    };
    this.#nodes.push(node);
    return node;
  }

  #pod(): PlayedObject {
    const nodeId = this.#bound();
    const pod: PlayedObject = {
      ...this.#bare('pod'),
      finalizers: weighted(this.#random, nodeId === null ? FINALIZERS_WITHOUT_NODE : FINALIZERS),
      ...(nodeId !== null && { spec: { of: 'pod', nodeId } }),
      // Whether a pod is marked before somebody tells of it, or after, would be a matter of chance.
      ...(!this.#isAbsent(nodeId) && { status: this.#podStatus() }),
    };
    this.#pods.push(pod);
    return pod;
  }

  #bound(): number | null {
    switch (weighted(this.#random, BOUND)) {
      case 'node':
        return evenChoice(this.#random, this.#nodes)?.id ?? null;
      case 'never-made':
        return evenChoice(this.#random, NEVER_MADE) ?? null;
      case 'nowhere':
        return null;
    }
  }

  #isAbsent(nodeId: number | null): boolean {
    return nodeId !== null && (NEVER_MADE.includes(nodeId) || this.#gone.has(nodeId));
  }

  #podStatus(): PlayedStatus {
    return { of: 'pod', phase: weighted(this.#random, PHASE), isEvicted: this.#random() < 0.2 };
  }

  #burst(least: number, most: number, nodesGo: boolean): Step[] {
    // Pods of nodes that never were go at some time in the first one.
    this.#touched = new Set(nodesGo ? NEVER_MADE : []);
    const count = between(this.#random, least, most);
    return Array.from({ length: count }).flatMap(() => {
      const deed = weighted(this.#random, DEEDS);
      return deed === 'node-goes' && !nodesGo ? [] : this.#deed(deed);
    });
  }

  #deed(deed: Deed): Step[] {
    switch (deed) {
      case 'delete':
        return this.#delete(this.#pods);
      case 'delete-unscheduled':
        return this.#delete(this.#pods.filter(({ spec }) => spec === undefined));
      case 'tell':
        return this.#onPod(({ id }) => ({ do: 'tell', id, status: this.#podStatus() }));
      case 'release':
        return this.#onPod(({ id }) => ({ do: 'release', id }));
      case 'create': {
        const object = this.#pod();
        if (!this.#isFree(object) && !this.#isNeverMade(object)) return this.#takeBack();
        this.#touched.add(object.id);
        return [{ do: 'create', object }];
      }
      case 'node-goes':
        return this.#onNode(({ id }) => {
          this.#gone.add(id);
          return { do: 'delete', id, propagation: null };
        });
      case 'node-returns':
        return this.#onNode(({ id }) => ({ do: 'replace', id }));
      case 'node-changes':
        return this.#onNode(({ id }) =>
          this.#random() < 0.5
            ? { do: 'tell', id, status: { of: 'node', ready: weighted(this.#random, READY) } }
            : { do: 'ask', id, spec: { of: 'node', taint: weighted(this.#random, TAINT) } },
        );
    }
  }

  #isNeverMade({ spec }: PlayedObject): boolean {
    return spec?.of === 'pod' && NEVER_MADE.includes(spec.nodeId);
  }

  #takeBack(): [] {
    this.#pods.pop();
    return [];
  }

  #delete(among: readonly PlayedObject[]): Step[] {
    return this.#onPod(({ id }) => ({ do: 'delete', id, propagation: null }), among);
  }

  #onPod(step: (pod: PlayedObject) => Step, among: readonly PlayedObject[] = this.#pods): Step[] {
    const pod = evenChoice(this.#random, among);
    if (pod === undefined || !this.#isFree(pod)) return [];
    this.#touched.add(pod.id);
    return [step(pod)];
  }

  /** Neither it nor its node was touched in this burst. */
  #isFree(pod: PlayedObject): boolean {
    if (this.#touched.has(pod.id)) return false;
    const { spec } = pod;
    if (spec?.of !== 'pod' || !this.#touched.has(spec.nodeId)) return true;
    return this.#isWild && !this.#isNeverMade(pod);
  }

  #onNode(step: (node: PlayedObject) => Step): Step[] {
    const node = evenChoice(this.#random, this.#nodes);
    const isOn = ({ id, spec }: PlayedObject) =>
      spec?.of === 'pod' && spec.nodeId === node?.id && this.#touched.has(id);
    if (node === undefined || this.#gone.has(node.id) || this.#touched.has(node.id)) return [];
    if (!this.#isWild && this.#pods.some(isOn)) return [];
    this.#touched.add(node.id);
    return [step(node)];
  }
}
