import { SCENARIOS, type Scenario, SMALL } from './executor/scenario.ts';
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

const executor = (what: string, scenario: Scenario, most: Most): Search => ({
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

const [CONTAINER, POLICIES] = SCENARIOS;
const CRASH_ALONE: Most = { crashes: 1, repeats: 0, pauses: 0, policyChanges: 0 };

/** What `npm test` can pay for: half a minute of one core. */
export const QUICK: readonly Search[] = [
  REPLICAS,
  executor('all but the crash', CONTAINER, { ...ALL, crashes: 0 }),
  executor('all but the crash', POLICIES, { ...ALL, crashes: 0 }),
  executor('the crash', POLICIES, CRASH_ALONE),
];

/** What `npm run test:world` can pay for: a minute of one core. */
export const LONGER: readonly Search[] = [executor('all four', SMALL, ALL)];

/** Two commands and three objects with all that may happen, together: a quarter of an hour of one core (`npm run exhaustive`). */
export const WHOLE: readonly Search[] = [
  REPLICAS,
  ...SCENARIOS.map((scenario) => executor('all four', scenario, ALL)),
];
