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
    rewrite: anotherDigit('"policies":.{"hash":"'),
    kind: 'policy-changed',
  },
  {
    name: 'a member twice in the version of a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    rewrite: (text) => text.replace('"policyVersion":1', '"policyVersion":7,"policyVersion":1'),
    kind: 'policy-changed',
  },
  {
    name: 'a policy that deciders follow',
    topic: 'policies',
    pick: contains('"fleetgc.policy"'),
    rewrite: (text) => text.replace('"policyVersion":1', '"policyVersion":2'),
    kind: 'policies-never-held',
    named: 'decisions',
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
