import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterGraph } from '../../agent/cluster-graph.ts';

/** An object as people name it. */
export interface ObjectName {
  /** `Deployment`, `deployments`, `apps/Deployment` or `deployments.apps`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Throws `NOT_FOUND`, or `AMBIGUOUS` where the kind could be several. */
export function findObject({ kinds, index }: ClusterGraph, asked: ObjectName): GraphObject {
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
