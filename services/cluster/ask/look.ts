import pLimit from 'p-limit';
import { labelsAsked, rulesOn } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type Discovery, discover } from '../../../packages/kube-api/discovery.ts';
import { listObjects } from '../../../packages/kube-api/list.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { ClusterGraph } from '../agent/graph.ts';
import { referenceKey, type ServedKinds, servedKinds, watchKey } from '../agent/kinds.ts';
import { formOf, type ObservedObject } from '../agent/observed-object.ts';

/** What a whole list of one kind held; `null` where it could not be read whole, and why. */
export interface ListedKind {
  readonly kind: ResourceKind;
  readonly objects: readonly ObservedObject[] | null;
  readonly reason: string;
}

/** A cluster as lists alone show it. */
export interface ClusterLook {
  readonly discovery: Discovery;
  readonly lists: readonly ListedKind[];
  /** Owners that a second list showed: they came while the lists were read, so nothing is said of them but that they are there. */
  readonly newcomers: readonly ListedKind[];
  /** What the API server's clock showed at least after the lists; `null` where it cannot be believed. */
  readonly serverMs: number | null;
}

const LISTS_AT_ONCE = 4;

interface Looking {
  readonly connection: ApiConnection;
  /** Milliseconds that only grow, as the connection counts them. */
  readonly nowMs: () => number;
  /** Rules of a policy, where it is asked what they would do. */
  readonly rules?: readonly OwnRule[];
}

/** Lists all that is collected. Rejects with what the connection rejects with, and `API_REFUSED`. */
export async function lookAtCluster(looking: Looking, signal: AbortSignal): Promise<ClusterLook> {
  const { connection, nowMs } = looking;
  const discovery = await discover(connection, null);
  if (discovery === null)
    throw new FleetGcError('API_REFUSED', 'the API server tells nothing of what it serves');
  const served = servedKinds(discovery.groups);
  const lists = await listAll(looking, [...served.collectable.values()], signal);
  const missing = missingOwners(lists, served);
  const again = await listAll(looking, [...missing.kinds], signal);
  // Lists of groups that others serve tell no time, and may take long.
  await discover(connection, discovery);
  const serverMs = connection.clock.at(nowMs())?.earliestMs ?? null;
  return { discovery, lists, newcomers: again.map((list) => onlyThese(list, missing.uids)), serverMs };
}

const listAll = (
  looking: Looking,
  kinds: readonly ResourceKind[],
  signal: AbortSignal,
): Promise<readonly ListedKind[]> => {
  const inTurn = pLimit(LISTS_AT_ONCE);
  return Promise.all(kinds.map((kind) => inTurn(() => listKind(looking, kind, signal))));
};

async function listKind(
  { connection, rules = [] }: Looking,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<ListedKind> {
  const objects: ObservedObject[] = [];
  const asked = labelsAsked(rulesOn(rules, kindName(kind)));
  const outcome = await listObjects(
    connection,
    { resource: kind, form: formOf(kind, asked) },
    (page) => void objects.push(...page),
    signal,
  );
  return outcome.kind === 'complete'
    ? { kind, objects, reason: '' }
    : { kind, objects: null, reason: outcome.message };
}

/** An owner may have come after its kind was listed, and before its dependent was. */
function missingOwners(lists: readonly ListedKind[], served: ServedKinds) {
  const all = lists.flatMap(({ objects }) => objects ?? []);
  const known = new Set(all.map(({ uid }) => uid));
  const missing = all.flatMap(({ ownerReferences }) => ownerReferences.filter(({ uid }) => !known.has(uid)));
  const kinds = missing.flatMap(({ apiVersion, kind }) => {
    const found = served.byReference.get(referenceKey(apiVersion, kind));
    return found === undefined || found === 'ambiguous'
      ? []
      : (served.collectable.get(watchKey(found)) ?? []);
  });
  return { uids: new Set(missing.map(({ uid }) => uid)), kinds: new Set(kinds) };
}

const onlyThese = ({ objects, ...list }: ListedKind, uids: ReadonlySet<string>): ListedKind => ({
  ...list,
  objects: objects?.filter(({ uid }) => uids.has(uid)) ?? null,
});

/** All that was listed counts as known for so long: nothing that could still be on its way is waited for. */
const AFTER_THE_LISTS_MS = 10_000;

/** The graph that an agent would have after these lists. */
export function graphOf({ discovery, lists, newcomers }: ClusterLook): ClusterGraph {
  let nowMs = 0;
  const nothing = (): void => undefined;
  const graph = new ClusterGraph({
    nowMs: () => nowMs,
    clusterInstance: null,
    onWork: nothing,
    onDefinition: nothing,
    onUnreadable: nothing,
    onWentBack: nothing,
  });
  // The graph has kinds of its own, one object each.
  const { added } = graph.kinds.update(discovery);
  const own = new Map(added.map((kind) => [watchKey(kind), kind]));
  const ownOf = (list: ListedKind): ListedKind => ({
    ...list,
    kind: own.get(watchKey(list.kind)) ?? list.kind,
  });
  for (const list of lists) take(ownOf(list), graph);
  nowMs = AFTER_THE_LISTS_MS;
  // Whoever came later is not known for long enough to be judged.
  for (const { kind, objects } of newcomers.map(ownOf))
    for (const object of objects ?? [])
      if (graph.index.get(object.uid) === undefined) graph.put(kind, object);
  return graph;
}

function take({ kind, objects, reason }: ListedKind, graph: ClusterGraph): void {
  if (objects === null) {
    graph.failed(kind, reason);
    return;
  }
  graph.beginList(kind);
  graph.listed(kind, objects);
  graph.endList(kind, true);
}

/** Every candidate that is new or changed since the last time, in portions as an agent publishes them. */
export function* candidatesIn(graph: ClusterGraph): Iterable<readonly OwnershipCandidate[]> {
  for (let batch = graph.take(); batch.candidates.length + batch.settled.length > 0; batch = graph.take())
    if (batch.candidates.length > 0) yield batch.candidates;
}
