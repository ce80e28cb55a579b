import { decide as decideExpiry } from '../../../packages/deciders/expiry-gc/decide.ts';
import {
  EXPIRING,
  type ExpiryCollector,
  isCollected,
} from '../../../packages/deciders/expiry-gc/rules/due.ts';
import { decide as decidePods } from '../../../packages/deciders/pod-gc/decide.ts';
import { podSettingsOf, QUARANTINE_MS } from '../../../packages/deciders/pod-gc/rules/conclude.ts';
import { ruleWords } from '../../../packages/deciders/rule-words.ts';
import { clusterAnswer } from '../../../packages/decision/cluster-handler.ts';
import { leftOutOf } from '../../../packages/decision/left-out-kinds.ts';
import type { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import type { PodCandidate } from '../../../schemas/events/pods.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type {
  ClusterPolicy,
  ClusterPolicyRecord,
  Collector,
} from '../../../schemas/policy/cluster-policy.ts';
import type {
  ClusterPlan,
  CollectorPlan,
  NamedObject,
  PlannedAction,
  RulePlan,
  UnreadKind,
} from '../../../schemas/reports/cluster-plan.ts';
import { type ExpiryBatch, ExpiryWatch } from '../agent/expiry.ts';
import type { ClusterGraph } from '../agent/graph.ts';
import { PodWatch } from '../agent/pods.ts';
import { type ClusterLook, graphOf, type ListedKind } from './look.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

/** What is asked, about which cluster. */
export interface Asking {
  readonly look: ClusterLook;
  readonly clusterInstance: string;
  readonly record: ClusterPolicyRecord;
}

/** A cluster as it was listed, and the owner graph of what was. */
interface Looked {
  readonly look: ClusterLook;
  readonly graph: ClusterGraph;
}

/** What the collectors would do now, by their own deciders. */
export function clusterPlan({ look, clusterInstance, record }: Asking): ClusterPlan {
  const graph = graphOf(look);
  const { index, kinds } = graph;
  const rules = planRules({ look, graph }, record);
  return {
    type: 'fleetgc.cluster-plan',
    version: 1,
    clusterInstance,
    policy: askedPolicy(record),
    totals: { kinds: kinds.watched.length, objects: index.size },
    collectors: Object.keys(PLANNERS)
      .filter(isCollector)
      .map((collector) => ({ collector, ...PLANNERS[collector]({ look, graph, policy: record.policy }) })),
    rules,
    ...unread(graph),
    leftOutKinds: [...leftOutOf(look.lists.map(({ kind }) => kind))],
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

/** What a plan is made of. */
interface Planning extends Looked {
  readonly policy: ClusterPolicy;
}
type Planner = (planning: Planning) => Omit<CollectorPlan, 'collector'>;

const OWNERS = 'garbage-collector-controller';

/** What is deleted sets free what it owned: so it goes on until nothing is left to do. */
const planOwners: Planner = ({ graph, policy }) => {
  const told = new Map<string, { readonly planned: PlannedAction; readonly verdict: ClusterVerdict }>();
  new SimulatedCluster(graph, policy).settle((judged, wave) => {
    const { uid } = judged.candidate.object;
    // What is done first counts: the rest of a deletion is no news.
    if (!isDone(told.get(uid)?.planned))
      told.set(uid, {
        planned: plannedAction(judged.candidate.object, judged.verdict, wave),
        verdict: judged.verdict,
      });
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

/** What goes by its own time sets nothing free that would go by it too. */
const planExpiry =
  (collector: ExpiryCollector): Planner =>
  ({ look, graph, policy }) => {
    const judged = judgeExpired(collector, { look, graph }, policy);
    const { outcome } = clusterAnswer(
      policy,
      collector,
      judged.map(({ verdict }) => verdict),
    );
    const objects = judged.map(({ candidate, verdict }) => plannedAction(candidate.object, verdict, 1));
    return { outcome, objects: objects.toSorted(inOrder) };
  };

/** What a pod leaves behind is the work of others. */
const planPods: Planner = ({ look, graph, policy }) => {
  const { outcome, judged } = judgePods({ look, graph }, policy);
  const objects = judged.map(({ pod, verdict }) => plannedAction(pod.object, verdict, 1));
  return { outcome, objects: objects.toSorted(inOrder) };
};

/** Each collector is asked itself. */
const PLANNERS: Readonly<Record<Collector, Planner>> = {
  [OWNERS]: planOwners,
  'ttl-after-finished-controller': planExpiry('ttl-after-finished-controller'),
  'certificatesigningrequest-cleaner-controller': planExpiry('certificatesigningrequest-cleaner-controller'),
  'podcertificaterequest-cleaner-controller': planExpiry('podcertificaterequest-cleaner-controller'),
  'pod-garbage-collector-controller': planPods,
};

/** By each rule of the policy. Rules look at the cluster as it is, before anybody has changed it. */
function planRules(looked: Looked, record: ClusterPolicyRecord): RulePlan[] {
  const byRule = Map.groupBy(judgeByRules(looked, record), ({ verdict }) => verdict.facts.ownRule);
  return (record.policy.rules ?? []).map(({ name }) => {
    const judged = byRule.get(name) ?? [];
    const { outcome } = clusterAnswer(
      record.policy,
      null,
      judged.map(({ verdict }) => verdict),
    );
    const objects = judged.map(({ candidate, verdict }) => plannedAction(candidate.object, verdict, 1));
    return { rule: name, outcome, objects: objects.toSorted(inOrder) };
  });
}

const isCollector = (name: string): name is Collector => Object.hasOwn(PLANNERS, name);

const plannedAction = (object: NamedObject, verdict: ClusterVerdict, wave: number): PlannedAction => ({
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
  expire: 1,
  'remove-pod': 2,
  'drop-references': 3,
  finish: 4,
  hold: 5,
  keep: 6,
};

const inOrder = (a: PlannedAction, b: PlannedAction): number =>
  ORDER[a.action] - ORDER[b.action] ||
  compareText(kindName(a), kindName(b)) ||
  compareText(a.namespace, b.namespace) ||
  compareText(a.name, b.name);

/** An object whose time is over, with what expiry-gc decides about it. */
interface ExpiryJudged {
  readonly candidate: ExpiryCandidate;
  readonly verdict: ClusterVerdict;
}

/** What the decider makes of all objects whose time is over that are the work of this collector. */
function judgeExpired(
  collector: ExpiryCollector,
  looked: Looked,
  policy: ClusterPolicy,
): readonly ExpiryJudged[] {
  const candidates = [...expired(looked, null)]
    .flatMap((batch) => batch.candidates)
    .filter(({ facts }) => isCollected(facts) && EXPIRING[facts.of].collector === collector);
  return judged({ candidates }, looked, { ...policy, rules: undefined });
}

/** The same for rules of the policy: of what no rule is for nothing is said. */
const judgeByRules = (looked: Looked, record: ClusterPolicyRecord): readonly ExpiryJudged[] =>
  record.policy.rules === undefined
    ? []
    : [...expired(looked, record)]
        .flatMap((batch) => judged(batch, looked, record.policy))
        .filter(({ verdict: { facts } }) => facts.ownRule !== undefined);

function judged(batch: ExpiryBatch, { look }: Looked, policy: ClusterPolicy): readonly ExpiryJudged[] {
  const takenAt = { serverMs: look.serverMs ?? 0, spreadMs: 0 };
  return decideExpiry({ ...batch, takenAt }, policy, []).verdicts.flatMap((verdict) => {
    const candidate = batch.candidates[verdict.position];
    return candidate === undefined ? [] : [{ candidate, verdict }];
  });
}

/** As an agent would publish them; where nobody knows the time nothing is over. */
function* expired(
  { look: { lists, serverMs }, graph }: Looked,
  record: ClusterPolicyRecord | null,
): Iterable<ExpiryBatch> {
  if (serverMs === null) return;
  const { book, sinks } = new ExpiryWatch(graph, () => record);
  for (const { kind, objects } of lists) for (const sink of sinks) sink.listed(kind, objects ?? []);
  for (let taken = book.take(serverMs); taken.candidates.length > 0; taken = book.take(serverMs)) yield taken;
}

interface JudgedPods {
  readonly outcome: CollectorPlan['outcome'];
  readonly judged: readonly { readonly pod: PodCandidate; readonly verdict: ClusterVerdict }[];
}

/** What would become of pods if nodes that are missing stay so. Without lists of pods and nodes nothing is said. */
function judgePods({ look, graph }: Looked, policy: ClusterPolicy): JudgedPods {
  let nowMs = 0;
  const watch = new PodWatch({
    isKeptNamespace: (namespace) => graph.isKeptNamespace(namespace),
    nowMs: () => nowMs,
  });
  for (const list of look.lists) take(list, watch);
  // Policies of files approve nothing: what is held is told as held.
  const settings = podSettingsOf(policy, []);
  watch.look(settings, false);
  nowMs = QUARANTINE_MS;
  const found = watch.look(settings, false);
  if (found === null) return { outcome: 'nothing-to-do', judged: [] };
  const { outcome, verdicts } = decidePods(
    { candidates: [...found.due], totals: found.totals, wentBack: false },
    policy,
    [],
  );
  const judged = verdicts.flatMap((verdict) => {
    const pod = found.due[verdict.position];
    return pod === undefined ? [] : [{ pod, verdict }];
  });
  return { outcome, judged };
}

function take({ kind, objects }: ListedKind, watch: PodWatch): void {
  if (objects === null) return;
  for (const mirror of [watch.pods, watch.nodes]) {
    mirror.beginList(kind);
    mirror.listed(kind, objects);
    mirror.endList(kind, true);
  }
}
