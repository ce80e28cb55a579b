import { z } from 'zod';
import { MAX_SLICE_RECORDS } from './limits.ts';
import type { DeathCount } from './port.ts';

/**
 * How many processes ended, or lost their place in the group, while they had the next records of one partition in hand. The first slice after a partition was
 * gained is counted before it is handled, and no longer once its process has lived through it. A process that dies over a
 * later slice is found out by the next one, whose first slice begins with the same record. After a death records are taken
 * and counted one by one, so that the one that is to blame is known.
 */
export class PartitionDeaths {
  #deaths: number;
  /** Records still to be taken one by one. */
  #oneByOne: number;
  #isProven = false;
  readonly #keep: (deaths: number) => Promise<void>;

  /** `keep` commits a number beside the place where the group is, and resolves when the log has it, or does not answer. */
  constructor(deaths: number, keep: (deaths: number) => Promise<void>) {
    this.#deaths = deaths;
    this.#oneByOne = deaths > 0 ? MAX_SLICE_RECORDS : 0;
    this.#keep = keep;
  }

  /** Records that the next slice may have. */
  atMost(records: number): number {
    return this.#oneByOne > 0 ? 1 : records;
  }

  forSlice(): DeathCount {
    const deaths = this.#deaths;
    const isCounted = !this.#isProven || this.#oneByOne > 0;
    if (!isCounted) return { deaths, begin: async () => undefined, end: async () => undefined };
    return {
      deaths,
      begin: () => this.#keep(deaths + 1),
      end: () => this.#keep(deaths),
    };
  }

  passed(records: number): void {
    this.#isProven = true;
    this.#deaths = 0;
    this.#oneByOne = Math.max(0, this.#oneByOne - records);
  }
}

/** What a group commits beside an offset: how many processes ended while they had the record there in hand. */
const CommitNote = z.object({ deaths: z.int().positive() });

/** `null` where there is nothing to tell. */
export const noteOf = (deaths: number): string | null => (deaths === 0 ? null : JSON.stringify({ deaths }));

/** None where nothing is told, or by another tool. */
export function deathsIn(metadata: string | null | undefined): number {
  try {
    return CommitNote.parse(JSON.parse(metadata ?? '')).deaths;
  } catch {
    return 0;
  }
}
