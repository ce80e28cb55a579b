import { between, evenChoice, type Random, seededRandom } from '../../sim/random.ts';
import { type Weighted, weighted } from './draw-graph.ts';
import type { History, Phase, PlayedObject, Step } from './history.ts';

/** Pods that ended and may stay. */
export const THRESHOLD = 7;

const FEWEST_PODS = 15;
const MOST_PODS = 45;
const NODE = 0;

const PHASE: Weighted<Phase> = [
  [15, 'Running'],
  [5, 'Pending'],
  [5, 'Unknown'],
  [30, 'Succeeded'],
  [40, 'Failed'],
  [5, ''],
];

type Deed = 'create' | 'end' | 'delete' | 'evict';
const DEEDS: Weighted<Deed> = [
  [35, 'create'],
  [30, 'end'],
  [20, 'delete'],
  [15, 'evict'],
];

/**
 * Pods that end, in an order that is the same in every run: pods of one second are made in the order of their names. The same for the
 * same seed.
 */
export const drawEndedPods = (seed: number): History => new Drawing(seed).history();

class Drawing {
  readonly #seed: number;
  readonly #random: Random;
  readonly #pods: PlayedObject[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  history(): History {
    const node: PlayedObject = {
      id: NODE,
      kind: 'node',
      place: 'home',
      finalizers: [],
      references: [],
      status: { of: 'node', ready: 'True' },
    };
    const first = this.#batches(between(this.#random, FEWEST_PODS, MOST_PODS));
    const bursts = [
      [{ do: 'create', object: node } as const, ...first],
      ...Array.from({ length: between(this.#random, 0, 2) }, () => this.#burst()),
    ];
    return { seed: this.#seed, isWild: false, isOrdered: true, bursts };
  }

  /** Names of a second come in their order, and those of a later one anywhere before or after. */
  #batches(count: number): Step[] {
    const pods = Array.from({ length: count }, (_, index) => this.#pod(index + 1));
    const shuffled = pods.map((pod) => ({ pod, at: this.#random() })).toSorted((a, b) => a.at - b.at);
    const seconds = between(this.#random, 2, 4);
    return Array.from({ length: seconds }, (_, second) =>
      shuffled.filter((__, index) => index % seconds === second).map(({ pod }) => pod),
    ).flatMap((batch): Step[] => [...batch.toSorted(byName).map(made), { do: 'pass-a-second' }]);
  }

  #pod(id: number): PlayedObject {
    const pod: PlayedObject = {
      id,
      kind: 'pod',
      place: this.#random() < 0.7 ? 'home' : 'away',
      finalizers: [],
      references: [],
      ...(this.#random() < 0.8 && { spec: { of: 'pod', nodeId: NODE } }),
      status: { of: 'pod', phase: weighted(this.#random, PHASE), isEvicted: this.#random() < 0.3 },
    };
    this.#pods.push(pod);
    return pod;
  }

  #burst(): Step[] {
    const touched = new Set<number>();
    const made_: PlayedObject[] = [];
    const deeds = Array.from({ length: between(this.#random, 4, 14) }).flatMap((): Step[] => {
      const deed = weighted(this.#random, DEEDS);
      if (deed === 'create') {
        made_.push(this.#pod(this.#pods.length + 1));
        return [];
      }
      const pod = evenChoice(this.#random, this.#pods);
      if (pod === undefined || touched.has(pod.id) || made_.includes(pod)) return [];
      touched.add(pod.id);
      return [this.#deed(deed, pod.id)];
    });
    return [...deeds, ...made_.toSorted(byName).map(made), { do: 'pass-a-second' }];
  }

  #deed(deed: Exclude<Deed, 'create'>, id: number): Step {
    switch (deed) {
      case 'delete':
        return { do: 'delete', id, propagation: null };
      case 'end':
        return { do: 'tell', id, status: { of: 'pod', phase: 'Succeeded', isEvicted: false } };
      case 'evict':
        return { do: 'tell', id, status: { of: 'pod', phase: 'Failed', isEvicted: true } };
    }
  }
}

const made = (object: PlayedObject): Step => ({ do: 'create', object });
const byName = (one: PlayedObject, other: PlayedObject): number =>
  String(one.id) < String(other.id) ? -1 : 1;
