import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { type ObjectMetadata, readMetadata } from '../../../../packages/kube-api/metadata.ts';
import { jsonOf } from '../../../../packages/kube-api/status.ts';
import { deleteObject, patchPodStatus } from '../../../../packages/kube-api/write.ts';
import type { PodMark, PodRemoval } from '../checks/judgement.ts';
import { type Conflict, later, type Stop } from '../checks/stop.ts';
import {
  type Deed,
  done,
  isSuccess,
  objectionToDeletion,
  ownPropagation,
  stopOrConflict,
  targetOf,
} from './deed.ts';

/** The pod is marked where it has not ended, and then deleted without grace: no mark, no deletion (cluster J2). */
export async function removePod(connection: ApiConnection, deed: Deed<PodRemoval>): Promise<Stop | Conflict> {
  const { mark } = deed.action;
  const judged = mark === null ? deed.object : await marked(connection, deed, mark);
  if ('kind' in judged) return judged;
  const objection = await objectionToDeletion(deed, judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(
    connection,
    targetOf({ ...deed, object: judged }),
    ownPropagation(judged),
    0,
  );
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What went at once is told as it was, with the time of its deletion: only finalizers hold a pod without grace.
  const left = readMetadata(jsonOf(answer.body))?.finalizers ?? [];
  return done(deed, left.length > 0 ? 'accepted' : 'removed');
}

/** The pod in the state in which it is marked. */
async function marked(
  connection: ApiConnection,
  deed: Deed<PodRemoval>,
  { disruption, observedGeneration }: PodMark,
): Promise<ObjectMetadata | Stop | Conflict> {
  const answer = await patchPodStatus(connection, targetOf(deed), {
    phase: 'Failed',
    observedGeneration,
    condition: disruption && { type: 'DisruptionTarget', status: 'True', ...disruption },
  });
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What is rehearsed has changed nothing, so the deletion is asked for on the state that is there.
  if (deed.rehearse) return deed.object;
  const object = readMetadata(jsonOf(answer.body));
  return object?.uid === deed.object.uid
    ? object
    : later('api-server-error', 'the answer to a patch does not hold the pod');
}
