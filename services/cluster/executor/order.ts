import type { ApiAnswer } from '../../../packages/kube-api/connection.ts';
import { type LiveObject, liveObject } from '../../../packages/kube-api/read.ts';
import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { refusalText, retryAfterMs, withMissingRight } from '../../../packages/kube-api/status.ts';
import type { WorkOutcome } from '../../../packages/kube-api/work-queue.ts';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { ClusterCommand, ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type {
  ClusterFailure,
  ClusterObjectOutcome,
  ClusterObjectRefusal,
  NodeFound,
  OwnerFound,
} from '../../../schemas/events/cluster-result.ts';

/** What an owner was found to be. */
export interface OwnerEvidence {
  readonly uid: string;
  readonly found: OwnerFound;
}

/** What the node of a pod was found to be. */
interface NodeEvidence {
  readonly name: string;
  readonly found: NodeFound;
}

/** A command as it came. */
export interface ReceivedCommand {
  readonly command: ClusterCommand;
  readonly trace: TraceContext | null;
  /** The id of the key that signed it, where one did. */
  readonly signedBy: string | null;
  /** By a clock that only grows. */
  readonly receivedAtMs: number;
  /** What this executor is to do of it: of the rest results tell already. */
  readonly intended: readonly ClusterCommandItem[];
}

/** One object of a command, with what was tried so far. */
export class Order {
  readonly received: ReceivedCommand;
  readonly item: ClusterCommandItem;
  attempts = 0;
  requests = 0;
  lastFailure: Failure | null = null;
  /** Why nothing may be done with it for now, or could not since it was tried last. */
  waitedFor: string | null = null;
  /** How a try ended of which nobody knows whether it was done; `null` where there was none. */
  unsure: Failure | null = null;
  /** As they were read last. */
  owners: readonly OwnerEvidence[] = [];
  /** As it was read last, where something follows from the node of a pod. */
  node: NodeEvidence | null = null;
  /** The resourceVersion in which it lies on the event log, to be brought back. */
  savedVersion: string | null = null;
  isInHand = false;
  isSettled = false;

  constructor(received: ReceivedCommand, item: ClusterCommandItem) {
    this.received = received;
    this.item = item;
  }

  get uid(): string {
    return this.item.object.uid;
  }

  /** Its finalizer is to be taken away. */
  get isFinish(): boolean {
    return this.item.act.action === 'finish';
  }

  get command(): ClusterCommand {
    return this.received.command;
  }

  /** Notes why it is not settled; gives back when it is tried again. */
  triedLater(stop: Exclude<Stop, { kind: 'settled' }>): WorkOutcome {
    if (stop.kind === 'waits') {
      this.waitedFor = stop.why;
      return 0;
    }
    this.lastFailure = stop.failure;
    return stop.afterMs ?? 'retry';
  }

  supersededBy({ command }: Order): ClusterObjectOutcome {
    const message = `command ${command.id} named the object before its turn came`;
    return { outcome: 'refused', reason: 'superseded', message };
  }
}

interface Failure {
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

const TOO_MANY_REQUESTS = 429;

/** It asks to wait, which is no failure (cluster F4). */
const laterAsAsked = (answer: ApiAnswer): Stop =>
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
