import type { Counters } from '../branches/counters.ts';

/** What an input did to the branches of the sources. */
interface Seen {
  /** Branches that no input before it took, or took as often. */
  readonly isNew: boolean;
  /** Branches that it took, each as often as it did. */
  readonly work: number;
}

const NOTHING: Seen = { isNew: false, work: 0 };

/** Which branches all inputs together took. Without counters nobody is told anything new. */
export class Coverage {
  readonly #counters: Counters | undefined;
  /** By branch, one bit for each magnitude of how often. */
  readonly #magnitudes: Uint8Array;
  blocks = 0;

  constructor(counters: Counters | undefined) {
    this.#counters = counters;
    this.#magnitudes = new Uint8Array(counters?.hits.length ?? 0);
  }

  get isKnown(): boolean {
    return this.#counters !== undefined;
  }

  /** Forgets what was counted outside of an input. */
  begin(): void {
    if (this.#counters !== undefined) reset(this.#counters);
  }

  end(): Seen {
    const counters = this.#counters;
    if (counters === undefined) return NOTHING;
    let work = 0;
    let isNew = false;
    for (const branch of counters.touched) {
      const times = counters.hits[branch] ?? 0;
      work += times;
      isNew = this.#takes(branch, magnitudeOf(times)) || isNew;
    }
    reset(counters);
    return { isNew, work };
  }

  #takes(branch: number, magnitude: number): boolean {
    const before = this.#magnitudes[branch] ?? 0;
    if ((before & magnitude) !== 0) return false;
    if (before === 0) this.blocks += 1;
    this.#magnitudes[branch] = before | magnitude;
    return true;
  }
}

function reset({ hits, touched }: Counters): void {
  for (const branch of touched) hits[branch] = 0;
  touched.length = 0;
}

/** Once, a few times, tens of times, more. */
function magnitudeOf(times: number): number {
  if (times === 1) return 1;
  if (times < 8) return 2;
  return times < 64 ? 4 : 8;
}
