import { FOREGROUND, ORPHAN } from '../../schemas/events/cluster-objects.ts';
import type { ReferenceState } from '../../schemas/events/ownership.ts';
import { blocks, type GraphObject, isDeletingWith } from './graph-object.ts';
import {
  DANGLING,
  type GraphView,
  type StatedReference,
  type Surroundings,
  statedReferences,
} from './reference-states.ts';

/** Who lists an object. */
export interface DependentCounts {
  readonly count: number;
  /** Of them, those that hold it back while it waits (cluster D17). */
  readonly blocking: number;
  /** One of them waits for its own dependents: the sign of a ring (cluster D12). */
  readonly oneWaits: boolean;
}

/** An object for which something may have to be done, with what a decision needs to know. */
export interface Candidacy {
  readonly object: GraphObject;
  readonly references: readonly StatedReference[];
  readonly dependents: DependentCounts;
}

/**
 * Whether something may have to be done about an object as things are now. It looks at no transition, so none can be missed
 * (cluster C17): `null` if nothing is to be done.
 */
export function candidacyOf(object: GraphObject, around: Surroundings): Candidacy | null {
  const references = statedReferences(object, around);
  const isOne =
    references.some(({ state }) => state === 'orphaning') ||
    (object.deletionTimestamp === null ? isCollectable(references) : isFinishable(object, around.graph));
  if (!isOne) return null;
  return { object, references, dependents: dependentCounts(object, around.graph) };
}

/** States with which nothing can be said of the object at all, whatever its other references (cluster D8, H2). */
const UNDECIDED: ReadonlySet<ReferenceState> = new Set(['scope', 'unresolved', 'pending']);

const isCollectable = (references: readonly StatedReference[]): boolean =>
  isDoubted(references) ||
  (references.some(({ state }) => state === 'waiting' || DANGLING.has(state)) &&
    !references.some(({ state }) => UNDECIDED.has(state)));

/**
 * Nothing follows while the kind of such an owner is not served. That it went with its definition is told all the same, since
 * nobody else would know it when the kind is back (cluster S3).
 */
const isDoubted = (references: readonly StatedReference[]): boolean =>
  references.some(({ state, gone }) => state === 'unresolved' && gone?.how === 'kind-going');

/**
 * Being deleted, and nobody is left for whom it waits (cluster D17, E3). Who lists more owners than are read may list this one: let go
 * too early, it would leave a reference behind that says nothing of its dependents being spared.
 */
function isFinishable(object: GraphObject, graph: GraphView): boolean {
  if (graph.countUnknownDependents(object) > 0) return false;
  if (isDeletingWith(object, ORPHAN)) return graph.countDependents(object.uid) === 0;
  return isDeletingWith(object, FOREGROUND) && !hasBlocking(object.uid, graph);
}

function hasBlocking(uid: string, graph: GraphView): boolean {
  for (const dependent of graph.dependents(uid)) if (blocks(dependent, uid)) return true;
  return false;
}

/** Of an owner that is being deleted, those that may list it count too. */
function dependentCounts(
  { uid, namespace, deletionTimestamp }: GraphObject,
  graph: GraphView,
): DependentCounts {
  const unknown = deletionTimestamp === null ? 0 : graph.countUnknownDependents({ namespace });
  let blocking = unknown;
  let oneWaits = false;
  for (const dependent of graph.dependents(uid)) {
    if (blocks(dependent, uid)) blocking++;
    oneWaits ||= isDeletingWith(dependent, FOREGROUND);
  }
  return { count: graph.countDependents(uid) + unknown, blocking, oneWaits };
}

/**
 * Uids whose candidacy a change of this object can change: those that list it, it, and those that it lists. Dependents come before
 * their owner, as upstream queues them (cluster C13).
 */
export function* neighbours(uid: string, graph: GraphView): Iterable<string> {
  for (const dependent of graph.dependents(uid)) yield dependent.uid;
  yield uid;
  for (const reference of graph.get(uid)?.references ?? []) yield reference.uid;
}
