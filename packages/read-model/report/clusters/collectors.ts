import type { ClusterObjectResults } from '../../../../schemas/events/cluster-result.ts';
import type { ClusterDeciderName } from '../../../../schemas/events/deciders.ts';
import type { Collector } from '../../../../schemas/policy/cluster-policy.ts';

/** Whose work it is where FleetGC does not do it; `null` by a rule of the policy. */
export type CollectorOf = (rule: string) => Collector | null;

/** By what may be over: TTL of Jobs, certificate requests, and those of pods. Rules of a policy have none of these. */
const ofTime: CollectorOf = (rule) => {
  if (rule === 'L9') return 'podcertificaterequest-cleaner-controller';
  if (rule.startsWith('L')) return 'certificatesigningrequest-cleaner-controller';
  return rule.startsWith('K') ? 'ttl-after-finished-controller' : null;
};

export const COLLECTOR_OF_DECIDER: Readonly<Record<ClusterDeciderName, CollectorOf>> = {
  'graph-gc': () => 'garbage-collector-controller',
  'pod-gc': () => 'pod-garbage-collector-controller',
  'expiry-gc': ofTime,
};

type Action = ClusterObjectResults['objects'][number]['action'];

/** Results do not name the decider: each action is ordered by one. */
export const DECIDER_OF_ACTION: Readonly<Record<Action, ClusterDeciderName>> = {
  delete: 'graph-gc',
  'drop-references': 'graph-gc',
  finish: 'graph-gc',
  expire: 'expiry-gc',
  'remove-pod': 'pod-gc',
};
