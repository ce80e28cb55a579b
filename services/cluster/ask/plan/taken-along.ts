import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterGraph } from '../../agent/cluster-graph.ts';

type TakesAlong = (target: GraphObject, object: GraphObject) => boolean;

/** Kinds whose objects take others along that they do not own; other controllers than the collector delete those. */
const TAKES_ALONG: Readonly<Record<string, TakesAlong>> = {
  Namespace: ({ name }, { namespace }) => namespace === name,
  'apiextensions.k8s.io/CustomResourceDefinition': ({ name }, { kind }) =>
    name === `${kind.resource}.${kind.group}`,
};

/** What goes with an object though it is not owned by it. */
export function takenAlong(target: GraphObject, { index }: ClusterGraph): readonly GraphObject[] {
  const isTaken = TAKES_ALONG[kindName(target.kind)];
  return isTaken === undefined ? [] : [...index.objects()].filter((object) => isTaken(target, object));
}
