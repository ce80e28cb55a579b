import { anotherDigit, type Changed, contains, type Gone } from './forgeries.ts';

/** What policies were. */
export const POLICIES_CHANGED: readonly Changed[] = [
  {
    name: 'a threshold in the version of a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    rewrite: anotherDigit('imageGCHighThresholdPercent'),
    kind: 'policy-changed',
  },
  {
    name: 'a policy in a set of policies',
    topic: 'policyVersions',
    pick: contains('fleetgc.policy-set'),
    rewrite: anotherDigit('"name":"default","policyVersion":1,"hash":"'),
    kind: 'policy-changed',
  },
];

export const POLICIES_GONE: readonly Gone[] = [
  {
    name: 'a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    kind: 'unknown-policy-set',
    named: 'decisions',
  },
];
