import { z } from 'zod';
import type { ApiAnswer, ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { type ObjectMetadata, readMetadata, UNREADABLE } from '../../../../packages/kube-api/metadata.ts';
import { jsonOf } from '../../../../packages/kube-api/status.ts';
import {
  deleteObject,
  type MetadataLeft,
  type Propagation,
  patchMetadata,
} from '../../../../packages/kube-api/write.ts';
import type { ClusterAction, ExpireAction } from '../../../../schemas/events/cluster-command.ts';
import { type Conflict, later, refused, type Stop } from '../checks/stop.ts';
import {
  type Deed,
  done,
  isSuccess,
  objectionToDeletion,
  ownPropagation,
  stopOrConflict,
  targetOf,
} from './deed.ts';
import { removePod } from './remove-pod.ts';

/** Does it, on the state that was judged and on no other. Rejects with what the connection rejects with. */
export function carryOut(connection: ApiConnection, deed: Deed): Promise<Stop | Conflict> {
  const { action, object } = deed;
  const { ownerReferences, finalizers } = object;
  switch (action.action) {
    case 'delete':
      return remove(connection, deed, action);
    case 'remove-pod':
      return removePod(connection, { ...deed, action });
    case 'expire':
      return remove(connection, deed, { propagation: expiresBy(action, object), unblock: false });
    case 'drop-references': {
      const left = ownerReferences.filter(({ uid }) => !action.ownerUids.includes(uid));
      return patch(connection, deed, { ownerReferences: left });
    }
    case 'finish':
      return patch(connection, deed, {
        finalizers: finalizers.filter((each) => each !== action.finalizer),
      });
  }
}

/** A rule of the policy says how; of what a collector takes in the background nobody does (cluster L10). */
const expiresBy = ({ propagation, ownRule }: ExpireAction, object: ObjectMetadata): Propagation =>
  ownRule === undefined && propagation === 'Background' ? ownPropagation(object) : propagation;

async function remove(
  connection: ApiConnection,
  deed: Deed,
  { propagation, unblock }: Pick<Extract<ClusterAction, { action: 'delete' }>, 'propagation' | 'unblock'>,
): Promise<Stop | Conflict> {
  const judged = unblock ? await unblocked(connection, deed) : deed.object;
  if ('kind' in judged) return judged;
  const objection = await objectionToDeletion(deed, judged);
  if (objection !== null) return objection;
  const answer = await deleteObject(connection, targetOf({ ...deed, object: judged }), propagation);
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  return done(deed, isStillThere(answer) ? 'accepted' : 'removed');
}

/** The object in the state in which it blocks no owner any more (cluster D12). */
async function unblocked(connection: ApiConnection, deed: Deed): Promise<ObjectMetadata | Stop | Conflict> {
  const { ownerReferences } = deed.object;
  if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return deed.object;
  const left = {
    ownerReferences: ownerReferences.map((each) =>
      each.blockOwnerDeletion === true ? { ...each, blockOwnerDeletion: false } : each,
    ),
  };
  const answer = await patched(connection, deed, left);
  if ('kind' in answer) return answer;
  if (!isSuccess(answer)) return stopOrConflict(answer, deed);
  // What is rehearsed has changed nothing, so the deletion is asked for on the state that is there.
  if (deed.rehearse) return deed.object;
  const object = readMetadata(jsonOf(answer.body));
  return object?.uid === deed.object.uid
    ? object
    : later('api-server-error', 'the answer to a patch does not hold the object');
}

async function patch(connection: ApiConnection, deed: Deed, left: MetadataLeft): Promise<Stop | Conflict> {
  const answer = await patched(connection, deed, left);
  if ('kind' in answer) return answer;
  return isSuccess(answer) ? done(deed, 'patched') : stopOrConflict(answer, deed);
}

/** What was not read whole cannot be written without losing what was cut away. */
async function patched(connection: ApiConnection, deed: Deed, left: MetadataLeft): Promise<ApiAnswer | Stop> {
  const { finalizers, ownerReferences } = deed.object;
  // Of the object, and not of what is left: the sign that something was cut away may be what is to be dropped.
  const texts = [
    ...(left.finalizers === undefined ? [] : finalizers),
    ...(left.ownerReferences === undefined ? [] : ownerReferences.map((each) => each.apiVersion)),
  ];
  return texts.includes(UNREADABLE)
    ? refused('kept-by-own-judgement', 'its references or finalizers are beyond all bounds')
    : patchMetadata(connection, targetOf(deed), left);
}

/** What went at once is told as a status, or as it was: finalizers alone hold an object without grace, such as a pod that has ended. */
function isStillThere({ body }: ApiAnswer): boolean {
  const answer = jsonOf(body);
  const left = readMetadata(answer);
  if (left === null || left.deletionTimestamp === null) return false;
  return (
    left.finalizers.length > 0 || Grace.safeParse(answer).data?.metadata.deletionGracePeriodSeconds !== 0
  );
}

const Grace = z.object({ metadata: z.object({ deletionGracePeriodSeconds: z.int().optional() }) });
