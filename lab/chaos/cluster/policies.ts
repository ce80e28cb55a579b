import type { ClusterPolicyFile } from '../../../schemas/policy/cluster-policy-file.ts';

/** What the judge has to know of a policy for clusters, said apart from what the product makes of it. */
export interface ClusterPolicyFacts {
  readonly enforces: boolean;
  /** Namespaces and kinds whose objects stay. */
  readonly keptNamespaces: readonly string[];
  readonly keptKinds: readonly string[];
  /** So many pods that have ended stay. */
  readonly endedPods: number;
}

/** A namespace that some policies keep. */
export const TEAM = 'team';

const USUAL: ClusterPolicyFacts = { enforces: true, keptNamespaces: [], keptKinds: [], endedPods: 4 };

/** The policies that a schedule may put in force, and the one of the rest after it. */
export const CLUSTER_POLICIES = {
  usual: USUAL,
  'keeps-team': { ...USUAL, keptNamespaces: [TEAM] },
  'keeps-secrets': { ...USUAL, keptKinds: ['Secret'] },
  'dry-run': { ...USUAL, enforces: false },
  rehearse: { ...USUAL, enforces: false },
  'more-pods': { ...USUAL, endedPods: 8 },
  'at-rest': USUAL,
} as const satisfies Record<string, ClusterPolicyFacts>;
export type ClusterPolicyId = keyof typeof CLUSTER_POLICIES;

/** Those that a fault puts in force. */
export const CLUSTER_POLICY_IDS = [
  'usual',
  'keeps-team',
  'keeps-secrets',
  'dry-run',
  'rehearse',
  'more-pods',
] as const satisfies ClusterPolicyId[];

/** Whatever was in force before, that of the rest is another one, so that all is decided once more. */
const LIFETIMES: Readonly<Record<string, string>> = { 'at-rest': '9m' };

export function clusterPolicyFile(id: ClusterPolicyId): ClusterPolicyFile {
  const { enforces, keptNamespaces, keptKinds, endedPods } = CLUSTER_POLICIES[id];
  const mode = enforces ? 'enforce' : id === 'rehearse' ? 'rehearse' : 'dry-run';
  return {
    kind: 'ClusterPolicy',
    name: 'chaos',
    mode,
    collectors: [
      'garbage-collector-controller',
      'pod-garbage-collector-controller',
      'ttl-after-finished-controller',
    ],
    terminatedPodGCThreshold: endedPods,
    keep: { namespaces: [...keptNamespaces], kinds: [...keptKinds] },
    commandLifetime: LIFETIMES[id] ?? '10m',
  };
}
