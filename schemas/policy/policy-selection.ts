import type { ClusterIdentity, SubjectKind } from '../events/identity.ts';
import { compareText } from '../events/text-order.ts';
import { GlobList } from './glob.ts';
import type { NodeSelector, PauseRecord, PolicyRecordOf, PolicySetOf } from './policy.ts';
import { MAX_SELECTION_STEPS, Steps, TooCostly } from './steps.ts';

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

/** Whether a policy or a pause is for a subject. Throws `TooCostly`. */
interface Selecting<Kind extends SubjectKind> {
  readonly policy: (record: PolicyRecordOf<Kind>, subject: SelectableSubject<Kind>, steps: Steps) => boolean;
  readonly pause: (pause: PauseRecord, subject: SelectableSubject<Kind>, steps: Steps) => boolean;
}

/** For whom policies and pauses are. */
const SELECTS: { readonly [Kind in SubjectKind]: Selecting<Kind> } = {
  node: {
    policy: ({ policy }, node, steps) => selectsNode(policy.selector, node, steps),
    pause: ({ selector }, node, steps) => selectsNode(selector, node, steps),
  },
  cluster: {
    policy: ({ policy }, { cluster }, steps) => isAmongClusters(policy.selector.clusters, cluster, steps),
    pause: ({ selector }, cluster, steps) => pausesCluster(selector, cluster, steps),
  },
};

/** What holds for a subject: paused, one policy, or none, which means keep everything. */
export type Selection<Kind extends SubjectKind> =
  | { readonly kind: 'paused'; readonly pause: PauseRecord }
  | { readonly kind: 'policy'; readonly record: PolicyRecordOf<Kind> }
  | { readonly kind: 'none' }
  /** To find out which of them holds would take more steps than one answer may: everything is kept (P10). */
  | { readonly kind: 'too-costly' };

/**
 * The first pause that is for the subject, else the policy of the highest priority. Of each its clusters are asked first, so that
 * what is for one cluster costs hardly anything to the others.
 */
export function selectPolicy<Kind extends SubjectKind>(
  set: PolicySetOf<Kind>,
  subject: SelectableSubject<Kind>,
  steps = new Steps(MAX_SELECTION_STEPS),
): Selection<Kind> {
  const selecting = SELECTS[set.subject];
  try {
    const pause = set.pauses.find((each) => selecting.pause(each, subject, steps));
    if (pause) return { kind: 'paused', pause };
    const record = highest(
      set.policies.filter((each) => mayBeFor(each.policy.selector.clusters, subject, steps)),
    ).find((each) => selecting.policy(each, subject, steps));
    return record ? { kind: 'policy', record } : { kind: 'none' };
  } catch (error) {
    if (error instanceof TooCostly) return { kind: 'too-costly' };
    throw error;
  }
}

/** The policy of the highest priority first; between equals, the first by name. */
const highest = <Record extends { readonly policy: { readonly name: string; readonly priority: number } }>(
  records: readonly Record[],
): readonly Record[] =>
  records.toSorted(
    (a, b) => b.policy.priority - a.policy.priority || compareText(a.policy.name, b.policy.name),
  );

const mayBeFor = (clusters: readonly string[], { cluster }: SelectableCluster, steps: Steps): boolean =>
  isAmongClusters(clusters, cluster, steps);

/** Whether a selector is for a node. Throws `TooCostly` where that takes more steps than one answer may. */
export const selects = (selector: NodeSelector, node: SelectableNode): boolean =>
  selectsNode(selector, node, new Steps(MAX_SELECTION_STEPS));

const selectsNode = (
  selector: NodeSelector,
  { cluster, node, nodeLabels }: SelectableNode,
  steps: Steps,
): boolean =>
  isAmongClusters(selector.clusters, cluster, steps) &&
  hasPool(selector.pools, nodeLabels, steps) &&
  hasLabels(selector.nodeLabels, nodeLabels, steps) &&
  (selector.nodeNames.length === 0 || matchesOnce(selector.nodeNames, node, steps));

/** To look at a selector, or at an entry of one of its lists, takes as long as so many comparisons of characters. */
const STEPS_OF_ENTRY = 4;

function isAmongClusters(clusters: readonly string[], cluster: string, steps: Steps): boolean {
  steps.take(STEPS_OF_ENTRY * (1 + clusters.length));
  return clusters.length === 0 || clusters.includes(cluster);
}

function hasPool(pools: readonly string[], nodeLabels: SelectableNode['nodeLabels'], steps: Steps): boolean {
  if (pools.length === 0) return true;
  steps.take(STEPS_OF_ENTRY * pools.length);
  const pool = nodeLabels[POOL_LABEL];
  return pool !== undefined && pools.includes(pool);
}

function hasLabels(
  wanted: NodeSelector['nodeLabels'],
  nodeLabels: SelectableNode['nodeLabels'],
  steps: Steps,
): boolean {
  const labels = Object.entries(wanted);
  steps.take(STEPS_OF_ENTRY * labels.length);
  return labels.every(([key, value]) => nodeLabels[key] === value);
}

/** What is known of a list of patterns and a name, and the steps that it took to find out. */
interface Matched {
  readonly matches: boolean;
  readonly steps: number;
}

/** Pairs of a list and a name that are remembered, before all are forgotten at once: about 10 MB. */
const MOST_REMEMBERED = 100_000;

/** What was found out of lists and names. One bound for all lists, since both policies and names of nodes can be many. */
class Remembered {
  #byList = new WeakMap<readonly string[], Map<string, Matched>>();
  #count = 0;

  get(patterns: readonly string[], name: string): Matched | undefined {
    return this.#byList.get(patterns)?.get(name);
  }

  set(patterns: readonly string[], name: string, matched: Matched): void {
    if (this.#count >= MOST_REMEMBERED) {
      this.#byList = new WeakMap();
      this.#count = 0;
    }
    const names = this.#byList.get(patterns) ?? new Map<string, Matched>();
    this.#byList.set(patterns, names);
    names.set(name, matched);
    this.#count += 1;
  }
}

const remembered = new Remembered();

/** A name is held against a list once, for as long as both are remembered; it counts each time what it took, so that no answer depends on the one before. */
function matchesOnce(patterns: readonly string[], name: string, steps: Steps): boolean {
  const before = remembered.get(patterns, name);
  if (before !== undefined) {
    steps.take(before.steps);
    return before.matches;
  }
  const taken = steps.taken;
  const matches = GlobList.of(patterns).matches(name, steps);
  remembered.set(patterns, name, { matches, steps: steps.taken - taken });
  return matches;
}

/** A pause of some nodes of a cluster does not hold the cluster's own objects. */
const pausesCluster = (selector: NodeSelector, { cluster }: SelectableCluster, steps: Steps): boolean =>
  selector.nodeNames.length === 0 &&
  selector.pools.length === 0 &&
  Object.keys(selector.nodeLabels).length === 0 &&
  isAmongClusters(selector.clusters, cluster, steps);
