/** One number of an input, and how large it may be. */
export interface Gene {
  readonly name: string;
  readonly most: number;
}

export type Genome = Readonly<Record<string, number>>;

/** A part that takes input from others: what a genome makes of it, and the elementary steps that this takes. */
export interface Surface {
  readonly name: string;
  readonly genes: readonly Gene[];
  /** No valid input may take more. */
  readonly bound: number;
  /** `null` where the input is refused at the door. */
  readonly stepsOf: (genome: Genome) => number | null;
}

export interface Worst {
  readonly genome: Genome;
  readonly steps: number;
}

/** The same numbers on every machine, from a seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * Climbs from nothing: changes one gene at a time, by powers of two and back, and keeps what takes no fewer steps. An input that is
 * refused is no step up.
 */
export function worstOf({ genes, stepsOf }: Surface, rounds: number, seed = 35): Worst {
  const random = randomFrom(seed);
  let worst: Worst = { genome: Object.fromEntries(genes.map(({ name }) => [name, 1])), steps: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const gene = genes[random(genes.length)];
    if (gene === undefined) break;
    const before = worst.genome[gene.name] ?? 0;
    const tried = [2 * before + 1, Math.floor(before / 2), gene.most, random(gene.most + 1)][random(4)] ?? 0;
    const genome = { ...worst.genome, [gene.name]: Math.min(tried, gene.most) };
    const steps = stepsOf(genome);
    if (steps !== null && steps >= worst.steps) worst = { genome, steps };
  }
  return worst;
}
