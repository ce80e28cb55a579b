/** Kinds that are held by default: what goes with them comes back from nowhere (cluster S2). */
export const HELD_KINDS = [
  'Namespace',
  'Node',
  'PersistentVolume',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
  // A Namespace by another name, in OpenShift: the API server tells each namespace as both.
  'project.openshift.io/Project',
] as const;

/** What no rule of a policy deletes, whatever it says: what goes with these comes back from nowhere, or takes the cluster along (cluster S9). */
export const FORBIDDEN_KINDS: readonly string[] = [
  ...HELD_KINDS,
  'PersistentVolumeClaim',
  'ServiceAccount',
  'storage.k8s.io/StorageClass',
  'coordination.k8s.io/Lease',
];
/** And all kinds of these groups; the second one is the first by another name, in OpenShift. */
export const FORBIDDEN_GROUPS: readonly string[] = [
  'rbac.authorization.k8s.io',
  'authorization.openshift.io',
  'admissionregistration.k8s.io',
];

/** Those of the cluster itself, and ours. */
export const FORBIDDEN_NAMESPACES = /^(kube-|fleetgc(-|$))/;

/**
 * Objects that may go with one owner, and with all missing owners of one kind, where a policy says nothing (cluster S1).
 * @limit Objects deleted with one owner, with the owners of one kind, and per hour, unless the policy sets them. More are held.
 */
export const DEFAULT_LIMITS = { cascade: 1_000, cascadeOfKind: 5_000, removalsPerHour: 10_000 } as const;

/** Of a rule of one's own that does not say it (cluster S10, S11). */
export const OWN_RULE_DEFAULTS = {
  propagation: 'Background',
  removalsPerHour: 100,
  heldFromPercent: 10,
} as const;

/** What an omitted key means. */
export const CLUSTER_POLICY_DEFAULTS = {
  priority: 0,
  profile: 'fleetgc',
  commandLifetime: '10m',
  terminatedPodGCThreshold: 12_500,
  undo: 'off',
} as const;
