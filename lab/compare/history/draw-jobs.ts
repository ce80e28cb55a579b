import { between, type Random, seededRandom } from '../../sim/random.ts';
import { drawBurst } from './draw-burst.ts';
import { type Weighted, weighted } from './draw-graph.ts';
import {
  type AskedPropagation,
  FOREIGN_FINALIZER,
  type History,
  type PlayedObject,
  type PlayedStatus,
  type Step,
} from './history.ts';

const FEWEST_JOBS = 20;
const MOST_JOBS = 60;
const HOUR_S = 3_600;
const HOUR_MS = HOUR_S * 1_000;

/** Over at once, soon, or long after the comparison. */
const TTL_SECONDS: Weighted<number | null> = [
  [25, 0],
  [10, 1],
  [10, 4],
  [10, 20],
  [20, HOUR_S],
  [5, 2_147_483_647],
  [20, null],
];
/** Something in the future is either near or far. */
const AGO_MS: Weighted<number | null> = [
  [45, 0],
  [20, 30_000],
  [15, 2 * HOUR_MS],
  [8, -4_000],
  [6, -HOUR_MS],
  [6, null],
];
const FINALIZERS: Weighted<readonly string[]> = [
  [70, []],
  [16, [FOREIGN_FINALIZER]],
  [7, ['orphan']],
  [7, ['foregroundDeletion', FOREIGN_FINALIZER]],
];
const PROPAGATION: Weighted<AskedPropagation> = [
  [1, 'Background'],
  [1, 'Foreground'],
  [1, 'Orphan'],
  [1, null],
];

type Deed = 'end' | 'ask' | 'create' | 'delete' | 'release';
const DEEDS: Weighted<Deed> = [
  [30, 'end'],
  [35, 'ask'],
  [15, 'create'],
  [10, 'delete'],
  [10, 'release'],
];

/** Jobs with and without a TTL, finished and not. The same for the same seed. */
export const drawJobs = (seed: number): History => new Drawing(seed).history();

class Drawing {
  readonly #seed: number;
  readonly #random: Random;
  readonly #jobs: PlayedObject[] = [];
  readonly #ended = new Set<number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  history(): History {
    const first = Array.from({ length: between(this.#random, FEWEST_JOBS, MOST_JOBS) }, () => this.#create());
    const bursts = [first, ...Array.from({ length: between(this.#random, 2, 4) }, () => this.#burst())];
    return { seed: this.#seed, isWild: false, bursts };
  }

  #create(): Step {
    const hasEnded = this.#random() < 0.7;
    const job: PlayedObject = {
      id: this.#jobs.length,
      kind: 'job',
      place: this.#random() < 0.85 ? 'home' : 'away',
      finalizers: weighted(this.#random, FINALIZERS),
      references: [],
      spec: { of: 'job', ttlSeconds: weighted(this.#random, TTL_SECONDS) },
      ...(hasEnded && { status: this.#end() }),
    };
    this.#jobs.push(job);
    if (hasEnded) this.#ended.add(job.id);
    return { do: 'create', object: job };
  }

  #end(): PlayedStatus {
    const ended = this.#random() < 0.6 ? 'Complete' : 'Failed';
    return { of: 'job', ended, agoMs: weighted(this.#random, AGO_MS) };
  }

  #burst(): Step[] {
    return drawBurst(this.#random, {
      deeds: DEEDS,
      objects: this.#jobs,
      create: () => this.#create(),
      deed: (deed, id) => this.#deed(deed, id),
    });
  }

  #deed(deed: Exclude<Deed, 'create'>, id: number): Step[] {
    switch (deed) {
      case 'end':
        if (this.#ended.has(id)) return [];
        this.#ended.add(id);
        return [{ do: 'tell', id, status: this.#end() }];
      case 'ask':
        return [{ do: 'ask', id, spec: { of: 'job', ttlSeconds: weighted(this.#random, TTL_SECONDS) } }];
      case 'delete':
        return [{ do: 'delete', id, propagation: weighted(this.#random, PROPAGATION) }];
      case 'release':
        return [{ do: 'release', id }];
    }
  }
}
