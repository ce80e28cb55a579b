import type { GoneObjects } from './gone-objects.ts';
import type { GraphObject } from './graph-object.ts';
import type { ResourceKind } from './kinds.ts';

/** What is known of a uid that references name. */
export interface GraphView {
  get(uid: string): GraphObject | undefined;
  /** Kinds under which a uid is served beside its first one: some objects lie in two groups. */
  otherKinds(uid: string): readonly ResourceKind[];
  /** Objects that list the uid, whether it is known or not (cluster B6). */
  dependents(uid: string): Iterable<GraphObject>;
  countDependents(uid: string): number;
  /** How many objects that are not being deleted may list an owner there, by references that were not read. */
  countUnknownDependents(owner: Pick<GraphObject, 'namespace'>): number;
  readonly gone: Pick<GoneObjects, 'get'>;
}
