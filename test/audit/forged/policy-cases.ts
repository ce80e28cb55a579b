import { type Changed, contains, type Gone } from './forgeries.ts';

/** What policies were. */
export const POLICIES_CHANGED: readonly Changed[] = [];

export const POLICIES_GONE: readonly Gone[] = [
  {
    name: 'a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    kind: 'unknown-policy-set',
    named: 'decisions',
  },
];
