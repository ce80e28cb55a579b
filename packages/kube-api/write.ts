import type { ApiAnswer, ApiConnection } from './connection.ts';
import { type ApiOwnerReference, AS_METADATA, UNREADABLE } from './metadata.ts';
import type { WrittenPodStatus } from './pods.ts';
import { type ApiObjectName, type ApiResource, objectPath } from './resources.ts';

/** The state of an object that was judged: a write of any other state is refused by the API server (cluster D15, D19). */
interface JudgedState {
  readonly uid: string;
  readonly resourceVersion: string;
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

/** With `rehearse` the API server does all but the deed. */
export interface WriteTarget {
  readonly resource: ApiResource;
  readonly named: ApiObjectName;
  readonly judged: JudgedState;
  readonly rehearse: boolean;
}

/** Deletes an object in the state in which it was judged, and in no other. */
export function deleteObject(
  connection: ApiConnection,
  { resource, named, judged, rehearse }: WriteTarget,
  propagationPolicy: Propagation,
  /** For kinds that end by and by; the kind's own where it is not given. */
  gracePeriodSeconds?: number,
): Promise<ApiAnswer> {
  const { uid, resourceVersion } = judged;
  return connection.call({
    method: 'DELETE',
    path: objectPath(resource, named),
    accept: AS_METADATA,
    body: JSON.stringify({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      gracePeriodSeconds,
      ...(rehearse && { dryRun: ['All'] }),
    }),
  });
}

/** What is left of an object's references, or of its finalizers, or of both: each list whole. */
export interface MetadataLeft {
  readonly ownerReferences?: readonly ApiOwnerReference[];
  readonly finalizers?: readonly string[];
}

/**
 * One JSON merge patch, which every kind takes; with uid and resourceVersion it is a compare and swap (cluster D11, D18). Throws
 * where a list was not read whole: what was cut away would be lost.
 */
export async function patchMetadata(
  connection: ApiConnection,
  { resource, named, judged, rehearse }: WriteTarget,
  { ownerReferences, finalizers }: MetadataLeft,
): Promise<ApiAnswer> {
  const { uid, resourceVersion } = judged;
  const query = rehearse ? '?dryRun=All' : '';
  const left = {
    ...(ownerReferences !== undefined && { ownerReferences: ownerReferences.map(writtenReference) }),
    ...(finalizers !== undefined && { finalizers: finalizers.map(readable) }),
  };
  return connection.call({
    method: 'PATCH',
    path: `${objectPath(resource, named)}${query}`,
    accept: AS_METADATA,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata: { uid, resourceVersion, ...left } }),
  });
}

const writtenReference = ({ controller, blockOwnerDeletion, ...reference }: ApiOwnerReference) => ({
  ...reference,
  apiVersion: readable(reference.apiVersion),
  ...(controller !== null && { controller }),
  ...(blockOwnerDeletion !== null && { blockOwnerDeletion }),
});

function readable(text: string): string {
  if (text === UNREADABLE) throw new RangeError('what was not read whole cannot be written');
  return text;
}

/** A condition that is set in the status of a pod; others of it stay as they are. */
interface PodCondition {
  readonly type: string;
  readonly status: 'True';
  readonly reason: string;
  readonly message: string;
  /** Since when it is so. */
  readonly atMs: number;
}

/** What changes in the status of a pod. */
interface PodStatusChange {
  readonly phase: string;
  /** Which generation of the pod that is said of; `null` where the API server counts none (from Kubernetes 1.33 on). */
  readonly observedGeneration: number | null;
  readonly condition: PodCondition | null;
}

/** A strategic merge patch, which merges conditions by their types; a compare and swap as all other writes. */
export const patchPodStatus = (
  connection: ApiConnection,
  { resource, named, judged, rehearse }: WriteTarget,
  { phase, observedGeneration, condition }: PodStatusChange,
): Promise<ApiAnswer> => {
  const observed: Pick<WrittenPodStatus, 'observedGeneration'> =
    observedGeneration === null ? {} : { observedGeneration };
  const status: WrittenPodStatus = {
    phase,
    ...observed,
    // What is not defined is not written.
    conditions: condition === null ? undefined : [{ ...writtenCondition(condition), ...observed }],
  };
  return connection.call({
    method: 'PATCH',
    path: `${objectPath(resource, named, 'status')}${rehearse ? '?dryRun=All' : ''}`,
    accept: AS_METADATA,
    contentType: 'application/strategic-merge-patch+json',
    body: JSON.stringify({
      metadata: { uid: judged.uid, resourceVersion: judged.resourceVersion },
      status,
    }),
  });
};

/** In whole seconds, as all times of an API server. */
const writtenCondition = ({ atMs, ...condition }: PodCondition) => ({
  ...condition,
  lastTransitionTime: new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z'),
});
