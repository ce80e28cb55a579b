import type { ApiAnswer } from '../../../../packages/kube-api/connection.ts';
import { type LiveObject, liveObject } from '../../../../packages/kube-api/read.ts';
import type { ApiKind, ApiObjectName } from '../../../../packages/kube-api/resources.ts';
import { refusalText, retryAfterMs, withMissingRight } from '../../../../packages/kube-api/status.ts';

import type {
  ClusterFailure,
  ClusterObjectOutcome,
  ClusterObjectRefusal,
} from '../../../../schemas/events/cluster-result.ts';

export interface Failure {
  readonly reason: ClusterFailure;
  readonly message: string;
}

/** Why an attempt goes no further: something came of the object, or it is tried again. */
export type Stop =
  | { readonly kind: 'settled'; readonly outcome: ClusterObjectOutcome }
  /** `afterMs`: the server asks for so long, and it is no failure; `null` waits by the limiter. */
  | { readonly kind: 'later'; readonly failure: Failure; readonly afterMs: number | null }
  /** Nothing may be done for now, and nothing went wrong. */
  | { readonly kind: 'waits'; readonly why: string };

/** Somebody changed the object since it was judged. */
export interface Conflict {
  readonly kind: 'conflict';
  readonly message: string;
}

/** Objects as they are read have none of these. */
export const isStop = (value: object): value is Stop =>
  'outcome' in value || 'failure' in value || 'why' in value;

/** No longer message fits in a result. */
const MAX_MESSAGE_LENGTH = 1_000;
export const cut = (message: string): string => message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();

export const settled = (outcome: ClusterObjectOutcome): Stop => ({ kind: 'settled', outcome });
export const refused = (reason: ClusterObjectRefusal, message: string): Stop =>
  settled({ outcome: 'refused', reason, message: cut(message) });
export const failed = ({ reason, message }: Failure): Stop =>
  settled({ outcome: 'failed', reason, message: cut(message) });
export const later = (reason: ClusterFailure, message: string, afterMs: number | null = null): Stop => ({
  kind: 'later',
  failure: { reason, message: cut(message) },
  afterMs,
});

export const waits = (why: string): Stop => ({ kind: 'waits', why: cut(why) });

/** After a 429 nobody waits less, whatever the API server says. */
const RETRY_AFTER_MS = 1_000;

export const TOO_MANY_REQUESTS = 429;

/** It asks to wait, which is no failure (cluster F4). */
export const laterAsAsked = (answer: ApiAnswer): Stop =>
  later('api-server-error', refusalText(answer), Math.max(RETRY_AFTER_MS, retryAfterMs(answer) ?? 0));

const UNAUTHORIZED = 401;

/** What a server cannot answer now, or not to us, it may answer later. */
export function maySoonBeKnown({ answer, message }: Extract<LiveObject, { kind: 'unknown' }>): Stop | null {
  if (answer.status === TOO_MANY_REQUESTS) return laterAsAsked(answer);
  return answer.status >= 500 || answer.status === UNAUTHORIZED ? later('api-server-error', message) : null;
}

/** A refusal alone would say that nothing was done, which nobody knows after a try that had no answer. */
export function toldOf(
  { unsure }: { readonly unsure: Failure | null },
  outcome: ClusterObjectOutcome,
): ClusterObjectOutcome {
  if (unsure === null || outcome.outcome !== 'refused') return outcome;
  const message = `an earlier try had no answer, so it may have been done (${unsure.message}); tried again, it is refused as ${outcome.reason}: ${outcome.message}`;
  return { outcome: 'failed', reason: unsure.reason, message: cut(message) };
}

const FAILURES: Readonly<Partial<Record<number, ClusterFailure>>> = {
  400: 'invalid',
  403: 'forbidden',
  405: 'invalid',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
};

/** What follows from an answer that is no success and no conflict. */
export function stopBy(answer: ApiAnswer, kind: ApiKind, named: ApiObjectName): Stop {
  const { status } = answer;
  const message = withMissingRight(refusalText(answer), kind);
  if (status === TOO_MANY_REQUESTS) return laterAsAsked(answer);
  if (status === 404 && liveObject(answer, kind, named).kind === 'absent')
    return settled({ outcome: 'not-found' });
  const reason = FAILURES[status];
  return reason === undefined ? later('api-server-error', message) : failed({ reason, message });
}
