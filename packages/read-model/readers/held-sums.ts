import type { HeldGroup, HeldSums } from '../projection/rows.ts';
import { ExactSum } from './exact-sum.ts';

/** Sums over nodes pass 2^53. */
export interface Sums {
  readonly nodes: number;
  readonly bytes: bigint;
  readonly aloneBytes: bigint;
  readonly unusedBytes: bigint;
  readonly neverUsedBytes: bigint;
}

type OfNode = HeldSums & Pick<HeldGroup, 'aloneBytes'>;

/** What nodes hold, added up. */
export class Adding {
  #nodes = 0;
  readonly #bytes = new ExactSum();
  readonly #alone = new ExactSum();
  readonly #unused = new ExactSum();
  readonly #neverUsed = new ExactSum();

  add({ bytes, aloneBytes, unusedBytes, neverUsedBytes }: OfNode): void {
    this.#nodes += 1;
    this.#bytes.add(bytes);
    this.#alone.add(aloneBytes);
    this.#unused.add(unusedBytes);
    this.#neverUsed.add(neverUsedBytes);
  }

  get sums(): Sums {
    return {
      nodes: this.#nodes,
      bytes: this.#bytes.total,
      aloneBytes: this.#alone.total,
      unusedBytes: this.#unused.total,
      neverUsedBytes: this.#neverUsed.total,
    };
  }
}

/** As the API tells it. */
export const told = ({ nodes, bytes, aloneBytes, unusedBytes, neverUsedBytes }: Sums) => ({
  nodes,
  bytes: String(bytes),
  aloneBytes: String(aloneBytes),
  unusedBytes: String(unusedBytes),
  neverUsedBytes: String(neverUsedBytes),
});

/** The same by a name. */
export class SumsByName {
  readonly #byName = new Map<string, Adding>();

  add(name: string, held: OfNode): void {
    const adding = this.#byName.get(name) ?? new Adding();
    this.#byName.set(name, adding);
    adding.add(held);
  }

  entries(): readonly (readonly [string, Sums])[] {
    return [...this.#byName].map(([name, { sums }]) => [name, sums] as const);
  }
}
