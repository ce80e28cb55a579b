import { between, type Random, seededRandom } from '../../sim/random.ts';
import { drawBurst } from './draw-burst.ts';
import { type Weighted, weighted } from './draw-graph.ts';
import {
  FOREIGN_FINALIZER,
  type History,
  type PlayedAnswer,
  type PlayedCertificate,
  type PlayedObject,
  type PlayedStatus,
  type Step,
} from './history.ts';

const FEWEST_REQUESTS = 20;
const MOST_REQUESTS = 60;
const MINUTE_MS = 60_000;

/** The limit is an hour. */
const AGO_MS: Weighted<number> = [
  [20, 0],
  [20, 50 * MINUTE_MS],
  [35, 61 * MINUTE_MS],
  [15, 25 * 60 * MINUTE_MS],
  [10, -61 * MINUTE_MS],
];
const ANSWER: Weighted<readonly PlayedAnswer['type'][]> = [
  [15, []],
  [30, ['Approved']],
  [20, ['Denied']],
  [12, ['Failed']],
  [10, ['Approved', 'Failed']],
  [5, ['Denied', 'Failed']],
  [8, ['Other']],
];
const CERTIFICATE: Weighted<PlayedCertificate | null> = [
  [30, null],
  [20, 'ended'],
  [25, 'valid'],
  [8, 'ended-first'],
  [8, 'valid-first'],
  [9, 'ended-with-a-note'],
];
const FINALIZERS: Weighted<readonly string[]> = [
  [78, []],
  [12, [FOREIGN_FINALIZER]],
  [5, ['orphan']],
  [5, ['foregroundDeletion']],
];

type Deed = 'answer' | 'create' | 'delete' | 'release';
const DEEDS: Weighted<Deed> = [
  [50, 'answer'],
  [25, 'create'],
  [10, 'delete'],
  [15, 'release'],
];

type RequestStatus = Extract<PlayedStatus, { of: 'certificateRequest' }>;

/** Certificate requests in all states. The same for the same seed. */
export const drawRequests = (seed: number): History => new Drawing(seed).history();

class Drawing {
  readonly #seed: number;
  readonly #random: Random;
  readonly #requests: PlayedObject[] = [];
  /** Nobody has said anything about them. */
  readonly #open = new Set<number>();

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  history(): History {
    const count = between(this.#random, FEWEST_REQUESTS, MOST_REQUESTS);
    const first = Array.from({ length: count }, () => this.#create());
    const bursts = [first, ...Array.from({ length: between(this.#random, 1, 3) }, () => this.#burst())];
    return { seed: this.#seed, isWild: false, bursts };
  }

  #create(): Step {
    const status = this.#status();
    const request: PlayedObject = {
      id: this.#requests.length,
      kind: 'certificateRequest',
      place: 'home',
      finalizers: weighted(this.#random, FINALIZERS),
      references: [],
      ...(status !== null && { status }),
    };
    this.#requests.push(request);
    if (status === null) this.#open.add(request.id);
    return { do: 'create', object: request };
  }

  /** A certificate comes for what was approved, and now and then for what was not. */
  #status(): RequestStatus | null {
    const types = weighted(this.#random, ANSWER);
    if (types.length === 0) return null;
    const mayHave = types.includes('Approved') || this.#random() < 0.2;
    return {
      of: 'certificateRequest',
      answers: types.map((type) => ({ type, agoMs: weighted(this.#random, AGO_MS) })),
      certificate: mayHave ? weighted(this.#random, CERTIFICATE) : null,
    };
  }

  #burst(): Step[] {
    return drawBurst(this.#random, {
      deeds: DEEDS,
      objects: this.#requests,
      create: () => this.#create(),
      deed: (deed, id) => this.#deed(deed, id),
    });
  }

  #deed(deed: Exclude<Deed, 'create'>, id: number): Step[] {
    switch (deed) {
      case 'answer': {
        const status = this.#open.has(id) ? this.#status() : null;
        if (status === null) return [];
        this.#open.delete(id);
        return [{ do: 'tell', id, status }];
      }
      case 'delete':
        return [{ do: 'delete', id, propagation: null }];
      case 'release':
        return [{ do: 'release', id }];
    }
  }
}
