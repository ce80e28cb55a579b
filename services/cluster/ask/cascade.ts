import { ruleWords } from '../../../packages/deciders/rule-words.ts';
import { type GraphObject, sameReferences } from '../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { StatedReference } from '../../../packages/owner-graph/reference-states.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Propagation } from '../../../schemas/events/cluster-command.ts';
import { FOREGROUND, kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ReferenceState } from '../../../schemas/events/ownership.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type {
  CascadeInMode,
  ClusterCascade,
  Fate,
  ReachedObject,
} from '../../../schemas/reports/cluster-cascade.ts';
import type { NamedObject } from '../../../schemas/reports/cluster-plan.ts';
import type { ClusterGraph } from '../agent/graph.ts';
import { graphOf } from './look.ts';
import { type Asking, askedPolicy, unread } from './plan.ts';
import { type Judged, SimulatedCluster } from './simulated-cluster.ts';

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

type ToldFate = Pick<ReachedObject, 'fate' | 'rule' | 'because' | 'finalizers'>;

/** The cluster when nothing is left to do. */
interface Afterwards {
  readonly graph: ClusterGraph;
  /** What was deleted. */
  readonly target: GraphObject;
  /** What went with it though it does not own that. */
  readonly along: ReadonlySet<string>;
}

/** What became of an object; `judged` is what was decided last about it, if anything had to be. */
function fateOf(before: GraphObject, judged: Judged | undefined, after: Afterwards): ToldFate {
  const { graph } = after;
  const now = graph.index.get(before.uid);
  const rule = judged?.verdict.rule ?? null;
  const words = judged === undefined ? null : ruleWords(judged.verdict);
  const told = (fate: ToldFate['fate'], because: string, finalizers: readonly string[] = []): ToldFate => ({
    fate,
    rule,
    because,
    finalizers: [...finalizers],
  });
  if (waitsForWhatLiesInIt(before, after)) return told('waits', 'what lies in it has to go first');
  if (now === undefined) return told('goes', words ?? goesBecause(before, after));
  if (now.deletionTimestamp !== null) return told('waits', waitsFor(now), now.finalizers);
  if (judged?.verdict.action === 'hold') return told('held', `${words}${factsText(judged)}`);
  return sameReferences(before.references, now.references)
    ? told('stays', words ?? heldBy(now, graph))
    : told('loses-references', words ?? '');
}

const waitsForWhatLiesInIt = ({ uid }: GraphObject, { graph, target, along }: Afterwards): boolean =>
  uid === target.uid && [...along].some((each) => graph.index.get(each) !== undefined);

const goesBecause = ({ uid }: GraphObject, { target: { kind, name }, along }: Afterwards): string =>
  along.has(uid) ? `it goes with the ${kind.kind} ${name}` : 'it is deleted';

const waitsFor = ({ finalizers }: GraphObject): string =>
  finalizers.every((each) => each === FOREGROUND)
    ? 'it waits for dependents that wait themselves, or are held'
    : `it waits for the finalizers ${finalizers.filter((each) => each !== FOREGROUND).join(', ')}`;

const factsText = ({ verdict: { facts } }: Judged): string => {
  const { objects, ofKind, limit } = facts;
  const count = objects ?? ofKind;
  return count === undefined || limit === undefined ? '' : `: ${count} objects, and the limit is ${limit}`;
};

/** Why nothing had to be decided about it: the first reference that holds it, in words. */
function heldBy(object: GraphObject, graph: ClusterGraph): string {
  const references = graph.references(object);
  for (const state of HOLDING) {
    const found = references.find((each) => each.state === state);
    if (found !== undefined) return HELD[state](found);
  }
  return 'nothing calls for it';
}

const HOLDING = [
  'scope',
  'unresolved',
  'pending',
  'held',
  'waiting',
  'orphaning',
  'elsewhere',
] as const satisfies readonly ReferenceState[];

const ownerOf = ({ reference: { kind, name } }: StatedReference): string => `${kind} ${name}`;

const HELD: Readonly<Record<(typeof HOLDING)[number], (stated: StatedReference) => string>> = {
  scope: (stated) => `it has no namespace and names the owner ${ownerOf(stated)}, whose kind has one (H2)`,
  unresolved: (stated) => `the kind of its owner ${ownerOf(stated)} is not served, or not for sure (D9)`,
  pending: (stated) => `whether its owner ${ownerOf(stated)} is there cannot be told from lists (I8)`,
  held: (stated) => `its owner ${ownerOf(stated)} is there (D10)`,
  waiting: (stated) => `its owner ${ownerOf(stated)} is still there`,
  orphaning: (stated) => `its owner ${ownerOf(stated)} is still there`,
  elsewhere: (stated) =>
    stated.gone === null
      ? `the uid of its owner ${ownerOf(stated)} is that of another object (S4)`
      : `the uid of its owner ${ownerOf(stated)} was that of another object, which is known until the agent restarts (S4)`,
};

/** An object as people name it. */
interface ObjectName {
  /** `Deployment`, `deployments`, `apps/Deployment` or `deployments.apps`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Throws `NOT_FOUND`, or `AMBIGUOUS` where the kind could be several. */
function findObject({ kinds, index }: ClusterGraph, asked: ObjectName): GraphObject {
  const kind = findKind(kinds.watched, asked.kind);
  const unread = kinds.unsynced.find((each) => each.kind === kind);
  if (unread !== undefined)
    throw new FleetGcError('NOT_FOUND', `${kindName(kind)} cannot be read: ${unread.reason}`);
  const namespace = kind.namespaced ? asked.namespace : '';
  for (const uid of index.uidsOf(kind)) {
    const object = index.get(uid);
    if (object?.name === asked.name && object.namespace === namespace) return object;
  }
  const place = kind.namespaced ? ` in the namespace ${namespace}` : '';
  throw new FleetGcError('NOT_FOUND', `there is no ${kindName(kind)} ${asked.name}${place}`);
}

function findKind(kinds: readonly ResourceKind[], asked: string): ResourceKind {
  const found = kinds.filter((kind) => namesOf(kind).includes(asked.toLowerCase()));
  const [only, ...more] = found;
  if (only === undefined)
    throw new FleetGcError('NOT_FOUND', `the API server collects no kind ${asked}, or does not serve it`);
  if (more.length > 0)
    throw new FleetGcError(
      'AMBIGUOUS',
      `${asked} is one of ${found.map(kindName).join(', ')}: name the group`,
    );
  return only;
}

const namesOf = (kind: ResourceKind): readonly string[] =>
  [kind.kind, kind.resource, kindName(kind), `${kind.resource}.${kind.group}`].map((name) =>
    name.toLowerCase(),
  );

const named = ({ kind: { group, kind }, namespace, name, uid }: GraphObject): NamedObject => ({
  group,
  kind,
  namespace,
  name,
  uid,
});

type TakesAlong = (target: GraphObject, object: GraphObject) => boolean;

/** Kinds whose objects take others along that they do not own; other controllers than the collector delete those. */
const TAKES_ALONG: Readonly<Record<string, TakesAlong>> = {
  Namespace: ({ name }, { namespace }) => namespace === name,
  'apiextensions.k8s.io/CustomResourceDefinition': ({ name }, { kind }) =>
    name === `${kind.resource}.${kind.group}`,
};

/** What goes with an object though it is not owned by it. */
function takenAlong(target: GraphObject, { index }: ClusterGraph): readonly GraphObject[] {
  const isTaken = TAKES_ALONG[kindName(target.kind)];
  return isTaken === undefined ? [] : [...index.objects()].filter((object) => isTaken(target, object));
}
