import { type Expiring, expiringForm, type LabelsAsked } from '../../../packages/kube-api/expiring.ts';
import { type ObjectForm, type ObjectMetadata, wholeForm } from '../../../packages/kube-api/metadata.ts';
import { type NodeFacts, type PodFacts, readNode, readPod } from '../../../packages/kube-api/pods.ts';
import { type GraphObject, sameReferences } from '../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';

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

const DIGITS = /^\d{1,20}$/;

/**
 * Whether the first is older than the second. Versions count up where they are numbers; of others, and where there is none,
 * nothing is known.
 */
export const isOlder = (version: string, than: string): boolean =>
  DIGITS.test(version) && DIGITS.test(than) && BigInt(version) < BigInt(than);

/** An object under the kind of its subscription (cluster A4). */
export const graphObject = (kind: ResourceKind, object: ObjectMetadata): GraphObject => ({
  kind,
  namespace: kind.namespaced ? object.namespace : '',
  name: object.name,
  uid: object.uid,
  resourceVersion: object.resourceVersion,
  deletionTimestamp: object.deletionTimestamp,
  finalizers: object.finalizers,
  references: object.ownerReferences,
  keep: object.keep,
});

/** Most events change what the graph does not keep; of an owner with thousands of dependents none has to be looked at again. */
export const isNewsTo = (known: GraphObject, object: GraphObject): boolean =>
  known.kind !== object.kind ||
  known.name !== object.name ||
  known.namespace !== object.namespace ||
  known.deletionTimestamp !== object.deletionTimestamp ||
  known.keep !== object.keep ||
  !sameTexts(known.finalizers, object.finalizers) ||
  !sameReferences(known.references, object.references);

/**
 * Whether it was seen before in a newer state, or was told to go, under the same kind: then the cluster was restored, whatever its
 * versions are by now (cluster S3). What is remembered of an earlier agent may not have gone yet. Of one that is served under two kinds, each watch tells in its own time.
 */
export function isOfThePast(
  { uid, kind, resourceVersion }: GraphObject,
  index: OwnerIndex,
  remembered: ReadonlyMap<string, unknown>,
): boolean {
  const known = index.get(uid);
  if (known === undefined) {
    const gone = index.gone.get(uid);
    return gone?.how === 'watched' && !remembered.has(uid) && isSameResource(gone.kind, kind);
  }
  const isAlone = index.otherKinds(uid).length === 0;
  return isAlone && isSameResource(known.kind, kind) && isOlder(resourceVersion, known.resourceVersion);
}

const isSameResource = (one: ResourceKind, other: ResourceKind): boolean =>
  one.group === other.group && one.kind === other.kind && one.resource === other.resource;

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at]);
