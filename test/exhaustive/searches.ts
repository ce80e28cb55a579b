import { SCENARIOS, SMALL } from './executor/scenario.ts';
import { ExecutorWorld, type Most } from './executor/world.ts';
import { type Bounds, type Explored, Explorer } from './explore.ts';
import { ReplicasWorld } from './replicas/world.ts';

/** One world that is searched through. */
export interface Search {
  readonly of: 'executor' | 'replicas';
  readonly name: string;
  readonly explore: (bounds?: Bounds) => Promise<Explored>;
}

const ALL: Most = { crashes: 1, repeats: 1, pauses: 1, policyChanges: 1 };

const executor = (what: string, scenario: (typeof SCENARIOS)[number], most: Most): Search => ({
  of: 'executor',
  name: `executor, ${scenario.name}; ${what}`,
  explore: (bounds) =>
    new Explorer(() => ExecutorWorld.begin({ scenario, isReduced: true, most }), bounds).explore(),
});

const REPLICAS: Search = {
  of: 'replicas',
  name: 'two replicas; a rebalance, a failure, a death',
  explore: (bounds) =>
    new Explorer(() => ReplicasWorld.begin({ arrived: 2, failures: 1, mayDie: true }), bounds).explore(),
};

/** What each run of the tests can pay for. */
export const QUICK: readonly Search[] = [
  REPLICAS,
  executor('all four', SMALL, ALL),
  ...SCENARIOS.map((scenario) => executor('all but the crash', scenario, { ...ALL, crashes: 0 })),
  ...SCENARIOS.map((scenario) =>
    executor('the crash', scenario, { ...ALL, repeats: 0, pauses: 0, policyChanges: 0 }),
  ),
];

/** Two commands and three objects with all that may happen, together. */
export const WHOLE: readonly Search[] = [
  REPLICAS,
  ...SCENARIOS.map((scenario) => executor('all four', scenario, ALL)),
];
