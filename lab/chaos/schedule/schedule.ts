import { z } from 'zod';
import { type Random, seededRandom } from '../../sim/random.ts';
import { ClusterFault } from '../cluster/faults/fault.ts';
import { CLUSTER_FAULTS, drawClusterFault } from '../cluster/faults/table.ts';
import { Fault } from '../faults/fault.ts';
import { SLOWED_BY } from '../faults/process-rows.ts';
import { between, one } from '../faults/row.ts';
import { drawFault, FAULTS } from '../faults/table.ts';

const ofEvery = {
  /** Of all that comes and goes by itself. */
  seed: z.int(),
  /** So long the parts run before any statement about keys is there. */
  statementsLateMs: z.int().nonnegative(),
  lastsMs: z.int(),
};

/** What is done to a fleet of nodes, and their lives: all that a round can be repeated from. */
const NodesSchedule = z.object({
  subject: z.literal('nodes'),
  ...ofEvery,
  /** What the nodes run. */
  runtime: z.enum(['simulated', 'containerd']),
  faults: z.array(Fault),
});
export type NodesSchedule = z.infer<typeof NodesSchedule>;

/** What is done to a cluster, its API server and what collects it. */
const ClusterSchedule = z.object({
  subject: z.literal('cluster'),
  ...ofEvery,
  /** Whether agent and executor take turns with replicas of theirs; if not, all of them work. */
  hasLeases: z.boolean(),
  faults: z.array(ClusterFault),
});
export type ClusterSchedule = z.infer<typeof ClusterSchedule>;

export const Schedule = z.discriminatedUnion('subject', [NodesSchedule, ClusterSchedule]);
export type Schedule = z.infer<typeof Schedule>;

/** What a round is about. */
export const SUBJECTS = ['nodes', 'cluster'] as const;
export type Subject = (typeof SUBJECTS)[number];

const LASTS_MS = 15_000;
const EARLIEST_MS = 500;
const LATEST_MS = 13_000;
const FEWEST_FAULTS = 8;
const MOST_FAULTS = 16;

/** The same for the same seed. */
export const drawSchedule = (seed: number, subject: Subject): Schedule => slowed(DRAW[subject](seed));

/** Twice as long, since less comes of it. */
const SLOWED_LASTS_MS = 2 * LASTS_MS;

/** Half of the rounds, of every subject and runtime. */
const isSlowed = (seed: number): boolean => seededRandom(seed + 1)() < 0.5;

/** Everything of the product is slow for as long as faults last, and they last longer. */
function slowed<S extends Schedule>(schedule: S): S {
  if (!isSlowed(schedule.seed)) return schedule;
  const faults = schedule.faults.map((fault) => ({ ...fault, atMs: 2 * fault.atMs, forMs: 2 * fault.forMs }));
  const slow = { kind: 'slow', atMs: 0, forMs: SLOWED_LASTS_MS, factor: SLOWED_BY } as const;
  return { ...schedule, lastsMs: SLOWED_LASTS_MS, faults: [slow, ...faults] };
}

const DRAW = { nodes: drawForNodes, cluster: drawForCluster } as const satisfies Record<
  Subject,
  (seed: number) => Schedule
>;

export function drawForNodes(seed: number): NodesSchedule {
  const random = seededRandom(seed);
  const kinds = Fault.options.map(({ shape }) => shape.kind.value);
  const faults = drawFaults(random, () => {
    const kind = weighted(random, kinds, (each) => FAULTS[each].weight);
    return drawFault(random, kind, between(random, EARLIEST_MS, LATEST_MS));
  });
  return {
    subject: 'nodes',
    seed,
    runtime: runtimeOf(seed),
    statementsLateMs: lateness(random),
    lastsMs: LASTS_MS,
    faults,
  };
}

export function drawForCluster(seed: number): ClusterSchedule {
  const random = seededRandom(seed);
  const kinds = ClusterFault.options.map(({ shape }) => shape.kind.value);
  const faults = drawFaults(random, () => {
    const kind = weighted(random, kinds, (each) => CLUSTER_FAULTS[each].weight);
    return drawClusterFault(random, kind, between(random, EARLIEST_MS, LATEST_MS));
  });
  return {
    subject: 'cluster',
    seed,
    statementsLateMs: lateness(random),
    hasLeases: random() < 0.3,
    lastsMs: LASTS_MS,
    faults,
  };
}

/** Of ten rounds after each other four have real containerd. */
const runtimeOf = (seed: number): NodesSchedule['runtime'] => (seed % 10 < 4 ? 'containerd' : 'simulated');

/** Of three rounds after each other one is about a cluster. */
export const subjectOf = (seed: number): Subject => (seed % 3 === 0 ? 'cluster' : 'nodes');

const lateness = (random: Random): number => one(random, [0, 0, 0, 4_000]);

interface Timed {
  readonly atMs: number;
  readonly forMs: number;
}

/** In order; each ends in time. */
function drawFaults<F extends Timed>(random: Random, draw: () => F): F[] {
  const count = between(random, FEWEST_FAULTS, MOST_FAULTS);
  const faults = Array.from({ length: count }, () => {
    const fault = draw();
    return { ...fault, forMs: Math.min(fault.forMs, LASTS_MS - fault.atMs) };
  });
  return faults.toSorted((a, b) => a.atMs - b.atMs);
}

function weighted<Kind extends string>(
  random: Random,
  kinds: readonly Kind[],
  weightOf: (kind: Kind) => number,
): Kind {
  let left = random() * kinds.reduce((sum, kind) => sum + weightOf(kind), 0);
  for (const kind of kinds) {
    left -= weightOf(kind);
    if (left < 0) return kind;
  }
  return one(random, kinds);
}

/** Of the n-th round of a campaign. */
export const roundSeed = (seed: number, round: number): number => seed * 100_003 + round;
