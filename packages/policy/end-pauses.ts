import type { Doing } from '../records/doing.ts';
import { otherPaused, type PausesByKey, pausesToEnd, type ResumeRequest } from './pauses.ts';
import type { StoredPolicies } from './stored-policies.ts';
import { deleteKeys, deleteUnheld, type PolicyWriter } from './write-policies.ts';

/** What became of a resume. `not-held`: the log held no such pause; `isWritten` says whether its end was written all the same. */
export type EndedPauses =
  | { readonly kind: 'ended'; readonly pauses: PausesByKey }
  | {
      readonly kind: 'not-held';
      readonly isWritten: boolean;
      /** `NOT_FOUND`, where something else is paused: the caller expects something to move that will not. */
      readonly error: Error | null;
    };

/** Ends pauses, for `fleetgc resume` and whoever else does. Throws as `writeStates`. */
export async function endPauses(
  writer: PolicyWriter,
  stored: Pick<StoredPolicies, 'pauses' | 'unreadable' | 'deleted'>,
  request: ResumeRequest,
  doing: Doing,
): Promise<EndedPauses> {
  const ending = pausesToEnd(stored, request);
  if (ending.kind === 'held') {
    await deleteKeys(writer, [...ending.pauses.keys()], doing);
    return { kind: 'ended', pauses: ending.pauses };
  }
  const { notStored, others } = ending;
  if (notStored !== null) await deleteUnheld(writer, [notStored], doing);
  const error = request.kind === 'one' && others.size > 0 ? otherPaused(request.selector, others) : null;
  return { kind: 'not-held', isWritten: notStored !== null, error };
}
