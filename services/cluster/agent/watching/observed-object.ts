import { type Expiring, expiringForm, type LabelsAsked } from '../../../../packages/kube-api/expiring.ts';
import { type ObjectForm, type ObjectMetadata, wholeForm } from '../../../../packages/kube-api/metadata.ts';
import { type NodeFacts, type PodFacts, readNode, readPod } from '../../../../packages/kube-api/pods.ts';

import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';

/** What is read of kinds that are read whole; `null` where it cannot be read, and nothing may be concluded from it. */
interface WholeFacts {
  /** What rules about time read of it. */
  readonly expiring?: Expiring | null;
  readonly pod?: PodFacts | null;
  readonly node?: NodeFacts | null;
}

/** An object as it is read of the API server: its metadata, and what else is read of kinds that are read whole. */
export interface ObservedObject extends ObjectMetadata, WholeFacts {}

/** In which form a kind is listed and watched: as metadata alone unless more has to be known of it (cluster A1). */
export function formOf(kind: ResourceKind, asked: LabelsAsked): ObjectForm<ObservedObject> {
  const timed = expiringForm(kind, asked);
  const readFacts = factsReader(kind);
  if (readFacts === null) return timed;
  return wholeForm((value) => {
    const object = timed.read(value);
    return object && { ...object, ...readFacts(value) };
  });
}

function factsReader(kind: ResourceKind): ((value: unknown) => WholeFacts) | null {
  if (isResource(kind, POD_RESOURCE)) return (value) => ({ pod: readPod(value) });
  if (isResource(kind, NODE_RESOURCE)) return (value) => ({ node: readNode(value) });
  return null;
}

type NamedResource = Pick<ResourceKind, 'group' | 'resource'>;

export const POD_RESOURCE: NamedResource = { group: '', resource: 'pods' };
export const NODE_RESOURCE: NamedResource = { group: '', resource: 'nodes' };
export const JOB_RESOURCE: NamedResource = { group: 'batch', resource: 'jobs' };

export const isResource = (kind: NamedResource, { group, resource }: NamedResource): boolean =>
  kind.group === group && kind.resource === resource;
