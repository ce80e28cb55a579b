import { z } from 'zod';
import { type Random, seededRandom } from '../../../sim/workload/random.ts';
import { Fault, type FaultKind } from '../faults/fault.ts';
import { between, one } from '../faults/row.ts';
import { drawFault, FAULTS } from '../faults/table.ts';

/** What is done to a fleet, and the lives of its nodes: all that a round can be repeated from. */
export const Schedule = z.object({
  seed: z.int(),
  /** What the nodes run. */
  runtime: z.enum(['simulated', 'containerd']),
  /** So long the parts run before any statement about keys is there. */
  statementsLateMs: z.int().nonnegative(),
  lastsMs: z.int(),
  faults: z.array(Fault),
});
export type Schedule = z.infer<typeof Schedule>;

const LASTS_MS = 15_000;
const EARLIEST_MS = 500;
const LATEST_MS = 13_000;
const FEWEST_FAULTS = 8;
const MOST_FAULTS = 16;
const KINDS: readonly FaultKind[] = Fault.options.map(({ shape }) => shape.kind.value);

/** The same for the same seed. */
export function drawSchedule(seed: number): Schedule {
  const random = seededRandom(seed);
  const count = between(random, FEWEST_FAULTS, MOST_FAULTS);
  const faults = Array.from({ length: count }, () =>
    endingInTime(drawFault(random, weightedKind(random), between(random, EARLIEST_MS, LATEST_MS))),
  );
  return {
    seed,
    runtime: runtimeOf(seed),
    statementsLateMs: one(random, [0, 0, 0, 4_000]),
    lastsMs: LASTS_MS,
    faults: faults.toSorted((a, b) => a.atMs - b.atMs),
  };
}

/** Of ten rounds after each other four have real containerd. */
const runtimeOf = (seed: number): Schedule['runtime'] => (seed % 10 < 4 ? 'containerd' : 'simulated');

const endingInTime = (fault: Fault): Fault => ({
  ...fault,
  forMs: Math.min(fault.forMs, LASTS_MS - fault.atMs),
});

function weightedKind(random: Random): FaultKind {
  const total = KINDS.reduce((sum, kind) => sum + FAULTS[kind].weight, 0);
  let left = random() * total;
  for (const kind of KINDS) {
    left -= FAULTS[kind].weight;
    if (left < 0) return kind;
  }
  return 'kill';
}

/** Of the n-th round of a campaign. */
export const roundSeed = (seed: number, round: number): number => seed * 100_003 + round;
