import { clusterAnswer } from '../../packages/decision/cluster-answer.ts';
import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type { ClusterPolicy, ClusterPolicyRecord, Collector } from '../../schemas/policy/cluster-policy.ts';
import type {
  ClusterPlan,
  CollectorPlan,
  PlannedAction,
  UnreadKind,
} from '../../schemas/reports/cluster-plan.ts';
import type { ClusterGraph } from '../cluster-agent/cluster-graph.ts';
import type { Judged } from './judged.ts';
import type { ClusterLook } from './look.ts';
import { graphOf } from './looked-at-graph.ts';
import { ruleWords } from './rule-words.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

/** What is asked, about which cluster. */
export interface Asking {
  readonly look: ClusterLook;
  readonly clusterInstance: string;
  readonly record: ClusterPolicyRecord;
}

type Planner = (graph: ClusterGraph, policy: ClusterPolicy) => Omit<CollectorPlan, 'collector'>;

const OWNERS = 'garbage-collector-controller';

/** What is deleted sets free what it owned: so it goes on until nothing is left to do. */
const planOwners: Planner = (graph, policy) => {
  const told = new Map<string, { readonly planned: PlannedAction; readonly verdict: ClusterVerdict }>();
  new SimulatedCluster(graph, policy).settle((judged, wave) => {
    const { uid } = judged.candidate.object;
    // What is done first counts: the rest of a deletion is no news.
    if (!isDone(told.get(uid)?.planned))
      told.set(uid, { planned: plannedAction(judged, wave), verdict: judged.verdict });
    return true;
  });
  const all = [...told.values()];
  const { outcome } = clusterAnswer(
    policy,
    OWNERS,
    all.map(({ verdict }) => verdict),
  );
  return { outcome, objects: all.map(({ planned }) => planned).toSorted(inOrder) };
};

const isDone = (planned: PlannedAction | undefined): boolean =>
  planned !== undefined && planned.action !== 'keep' && planned.action !== 'hold';

/** Each collector is asked itself. */
const PLANNERS: Readonly<Record<Collector, Planner>> = { [OWNERS]: planOwners };

const isCollector = (name: string): name is Collector => Object.hasOwn(PLANNERS, name);

/** What the collectors would do now, by their own deciders. */
export function clusterPlan({ look, clusterInstance, record }: Asking): ClusterPlan {
  const graph = graphOf(look);
  const { index, kinds } = graph;
  return {
    type: 'fleetgc.cluster-plan',
    version: 1,
    clusterInstance,
    policy: askedPolicy(record),
    totals: { kinds: kinds.watched.length, objects: index.size },
    collectors: Object.keys(PLANNERS)
      .filter(isCollector)
      .map((collector) => ({ collector, ...PLANNERS[collector](graph, record.policy) })),
    ...unread(graph),
  };
}

export const askedPolicy = ({ hash, policy: { name, mode, profile } }: ClusterPolicyRecord) => ({
  name,
  hash,
  mode,
  profile,
});

/** Of what nothing is said. */
export const unread = ({
  kinds,
}: ClusterGraph): { readonly unreadKinds: UnreadKind[]; readonly failedGroups: string[] } => ({
  unreadKinds: kinds.unsynced.map(({ kind: { group, kind }, reason }) => ({ group, kind, reason })),
  failedGroups: [...kinds.failedGroups],
});

const plannedAction = ({ candidate: { object }, verdict }: Judged, wave: number): PlannedAction => ({
  group: object.group,
  kind: object.kind,
  namespace: object.namespace,
  name: object.name,
  uid: object.uid,
  action: verdict.action,
  rule: verdict.rule,
  because: ruleWords(verdict),
  facts: verdict.facts,
  wave,
});

const ORDER: Readonly<Record<ClusterVerdict['action'], number>> = {
  delete: 0,
  'drop-references': 1,
  finish: 2,
  hold: 3,
  keep: 4,
};

const inOrder = (a: PlannedAction, b: PlannedAction): number =>
  ORDER[a.action] - ORDER[b.action] ||
  compareText(kindName(a), kindName(b)) ||
  compareText(a.namespace, b.namespace) ||
  compareText(a.name, b.name);
