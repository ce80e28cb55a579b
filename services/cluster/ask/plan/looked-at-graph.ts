import type { OwnershipCandidate } from '../../../../schemas/events/ownership.ts';
import { ClusterGraph } from '../../agent/cluster-graph.ts';
import { watchKey } from '../../agent/kinds/served-kinds.ts';
import type { ClusterLook, ListedKind } from './look.ts';

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
