import { Propagation } from '../../../../schemas/events/cluster-command.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type {
  CascadeInMode,
  ClusterCascade,
  Fate,
  ReachedObject,
} from '../../../../schemas/reports/cluster-cascade.ts';
import type { ClusterGraph } from '../../agent/cluster-graph.ts';
import { fateOf } from './fate.ts';
import { findObject, type ObjectName } from './find-object.ts';
import type { Judged } from './judged.ts';
import { graphOf } from './looked-at-graph.ts';
import { named } from './named-object.ts';
import { type Asking, askedPolicy, unread } from './plan.ts';
import { SimulatedCluster } from './simulated-cluster.ts';
import { takenAlong } from './taken-along.ts';

/** What the deletion of an object would take along, in each mode, by graph-gc's own decisions. */
export function clusterCascade(asking: Asking, asked: ObjectName): ClusterCascade {
  const graph = graphOf(asking.look);
  const target = findObject(graph, asked);
  return {
    type: 'fleetgc.cluster-cascade',
    version: 1,
    clusterInstance: asking.clusterInstance,
    policy: askedPolicy(asking.record),
    target: named(target),
    modes: Propagation.options.map((propagation) => inMode(asking, target.uid, propagation)),
    ...unread(graph),
  };
}

/** What was decided last about each object. */
type LastJudged = ReadonlyMap<string, Judged>;

function inMode({ look, record }: Asking, uid: string, propagation: Propagation): CascadeInMode {
  const cluster = new SimulatedCluster(graphOf(look), record.policy);
  const { graph } = cluster;
  const due = dueAnyway(cluster);
  // The graph changes its objects in place.
  const before = new Map([...graph.index.objects()].map((object) => [object.uid, { ...object }]));
  const target = before.get(uid);
  if (target === undefined) return { propagation, objects: [] };
  const along = new Set(takenAlong(target, graph).map((object) => object.uid));
  const reached = reachedFrom([uid, ...along], graph).flatMap((each) => before.get(each) ?? []);
  cluster.delete(target, propagation);
  for (const object of reached) if (along.has(object.uid)) cluster.delete(object, 'Background');
  const judged = settled(cluster, due);
  const after = { graph, target, along };
  const told = reached.map((each) => ({ ...named(each), ...fateOf(each, judged.get(each.uid), after) }));
  return { propagation, objects: [...told.slice(0, 1), ...told.slice(1).toSorted(inOrder)] };
}

/** What is to be done already has nothing to do with this deletion, and is left as it is. */
function dueAnyway(cluster: SimulatedCluster): ReadonlyMap<string, string> {
  const due = new Map<string, string>();
  cluster.settle((judged) => {
    due.set(judged.candidate.object.uid, signOf(judged));
    return false;
  });
  return due;
}
const signOf = ({ verdict: { action, rule }, act }: Judged): string => JSON.stringify([action, rule, act]);

function settled(cluster: SimulatedCluster, due: ReadonlyMap<string, string>): LastJudged {
  const last = new Map<string, Judged>();
  cluster.settle((judged) => {
    const { uid } = judged.candidate.object;
    if (due.get(uid) === signOf(judged)) return false;
    last.set(uid, judged);
    return true;
  });
  return last;
}

/** These, who lists them, and who lists those. */
function reachedFrom(uids: readonly string[], { index }: ClusterGraph): readonly string[] {
  const seen = new Set(uids);
  for (const uid of seen) for (const dependent of index.dependents(uid)) seen.add(dependent.uid);
  return [...seen];
}

const ORDER: Readonly<Record<Fate, number>> = { goes: 0, waits: 1, held: 2, 'loses-references': 3, stays: 4 };

const inOrder = (a: ReachedObject, b: ReachedObject): number =>
  ORDER[a.fate] - ORDER[b.fate] ||
  compareText(kindName(a), kindName(b)) ||
  compareText(a.namespace, b.namespace) ||
  compareText(a.name, b.name);
