import { CLUSTERS } from './clusters.ts';
import { DECISIONS } from './decisions.ts';
import { FLEET } from './fleet.ts';
import type { Dashboard } from './panels.ts';

export const DASHBOARDS: readonly Dashboard[] = [FLEET, DECISIONS, CLUSTERS];

/** Every expression, as it stands there. */
export const queriesOf = ({ rows }: Dashboard): readonly string[] =>
  rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)));
