import type { ApiAnswer } from '../../../../packages/kube-api/connection.ts';
import type { ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import { refusalText } from '../../../../packages/kube-api/status.ts';
import type { Propagation, WriteTarget } from '../../../../packages/kube-api/write.ts';
import { FOREGROUND, ORPHAN, type ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectOutcome } from '../../../../schemas/events/cluster-result.ts';
import type { JudgedAction } from '../checks/judgement.ts';
import { type Conflict, type Stop, settled, stopBy } from '../checks/stop.ts';

export interface Deed<Action = JudgedAction> {
  readonly kind: ServedKind;
  /** In the state that was judged. */
  readonly object: ObjectMetadata;
  readonly action: Action;
  readonly rehearse: boolean;
  /** Why nothing more may be done, asked between two writes. */
  readonly objection: () => Stop | null;
  /** Saves the object in this state, which is to be deleted next; why it must not be, where it must not. */
  readonly save: (object: ObjectMetadata) => Promise<Stop | Conflict | null>;
}

/** Whether the object may be deleted in this state, after all that takes time. */
export async function objectionToDeletion(
  deed: Deed<unknown>,
  object: ObjectMetadata,
): Promise<Stop | Conflict | null> {
  return deed.objection() ?? (await deed.save(object)) ?? deed.objection();
}

type Written = Pick<Deed, 'kind' | 'object' | 'rehearse'>;

export const targetOf = ({ kind, object, rehearse }: Written): WriteTarget => ({
  resource: kind,
  named: { namespace: object.namespace, name: object.name },
  judged: object,
  rehearse,
});

export const isSuccess = ({ status }: ApiAnswer): boolean => status >= 200 && status < 300;

const CONFLICT = 409;
export const stopOrConflict = (answer: ApiAnswer, { kind, object }: Written): Stop | Conflict =>
  answer.status === CONFLICT
    ? { kind: 'conflict', message: refusalText(answer) }
    : stopBy(answer, kind, object);

export const done = ({ rehearse }: Written, outcome: 'removed' | 'accepted' | 'patched'): Stop =>
  settled(rehearse ? { outcome: 'rehearsed' } : ({ outcome } satisfies ClusterObjectOutcome));

/** How it goes where nobody says how: as its own finalizers say (cluster D14, L10). */
export function ownPropagation({ finalizers }: Pick<ObjectMetadata, 'finalizers'>): Propagation {
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
}
