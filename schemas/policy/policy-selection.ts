import type { ClusterIdentity, SubjectKind } from '../events/identity.ts';
import { compareText } from '../events/text-order.ts';
import { globMatcher } from './glob.ts';
import type { NodeSelector, PauseRecord, PolicyRecordOf, PolicySetOf } from './policy.ts';

/** The label of a node that says to which pool it belongs. */
export const POOL_LABEL = 'fleetgc.io/pool';

/** A node as selection looks at it. */
export interface SelectableNode {
  readonly cluster: string;
  readonly node: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
}

/** A cluster as selection looks at it. */
export type SelectableCluster = Pick<ClusterIdentity, 'cluster'>;

/** What selection looks at. */
interface SelectableSubjects {
  readonly node: SelectableNode;
  readonly cluster: SelectableCluster;
}
export type SelectableSubject<Kind extends SubjectKind> = SelectableSubjects[Kind];

interface Selecting<Kind extends SubjectKind> {
  readonly policy: (record: PolicyRecordOf<Kind>, subject: SelectableSubject<Kind>) => boolean;
  readonly pause: (pause: PauseRecord, subject: SelectableSubject<Kind>) => boolean;
}

/** For whom policies and pauses are. */
const SELECTS: { readonly [Kind in SubjectKind]: Selecting<Kind> } = {
  node: {
    policy: ({ policy }, node) => selects(policy.selector, node),
    pause: ({ selector }, node) => selects(selector, node),
  },
  cluster: {
    policy: ({ policy }, cluster) => selectsCluster(policy.selector, cluster),
    pause: ({ selector }, cluster) => pausesCluster(selector, cluster),
  },
};

/** What holds for a subject: paused, one policy, or none, which means keep everything. */
export type Selection<Kind extends SubjectKind> =
  | { readonly kind: 'paused'; readonly pause: PauseRecord }
  | { readonly kind: 'policy'; readonly record: PolicyRecordOf<Kind> }
  | { readonly kind: 'none' };

export function selectPolicy<Kind extends SubjectKind>(
  set: PolicySetOf<Kind>,
  subject: SelectableSubject<Kind>,
): Selection<Kind> {
  const selecting = SELECTS[set.subject];
  const pause = set.pauses.find((each) => selecting.pause(each, subject));
  if (pause) return { kind: 'paused', pause };
  const [record] = set.policies
    .filter((each) => selecting.policy(each, subject))
    .toSorted((a, b) => b.policy.priority - a.policy.priority || compareText(a.policy.name, b.policy.name));
  return record ? { kind: 'policy', record } : { kind: 'none' };
}

export function selects(selector: NodeSelector, { cluster, node, nodeLabels }: SelectableNode): boolean {
  return (
    (selector.clusters.length === 0 || selector.clusters.includes(cluster)) &&
    (selector.nodeNames.length === 0 || selector.nodeNames.some((pattern) => globMatcher(pattern)(node))) &&
    (selector.pools.length === 0 || selector.pools.some((pool) => pool === nodeLabels[POOL_LABEL])) &&
    Object.entries(selector.nodeLabels).every(([key, value]) => nodeLabels[key] === value)
  );
}

const selectsCluster = (
  { clusters }: Pick<NodeSelector, 'clusters'>,
  { cluster }: SelectableCluster,
): boolean => clusters.length === 0 || clusters.includes(cluster);

/** A pause of some nodes of a cluster does not hold the cluster's own objects. */
const pausesCluster = (selector: NodeSelector, cluster: SelectableCluster): boolean =>
  selector.nodeNames.length === 0 &&
  selector.pools.length === 0 &&
  Object.keys(selector.nodeLabels).length === 0 &&
  selectsCluster(selector, cluster);
