import type { ErrorCode } from '../../../../packages/process/errors.ts';
import type { DeadLetterCause } from '../../../../schemas/events/dead-letter.ts';

/** Why events are not decided on, and whether it helps to send them again. */
export interface Problem {
  readonly kind: ProblemKind;
  /** A sentence for people. */
  readonly detail: string;
  /** Which events of several, where it is about some. */
  readonly events?: readonly EventProblem[];
}

export interface EventProblem {
  /** Its place among those that were sent, from 0. */
  readonly index: number;
  /** Of the event; `null` where it has none that can be read. */
  readonly id: string | null;
  readonly kind: ProblemKind;
  readonly detail: string;
}

/** Also tells a problem from what else a function returns. */
export class Refused {
  readonly problem: Problem;

  constructor(problem: Problem) {
    this.problem = problem;
  }
}

export const refused = (kind: ProblemKind, detail: string): Refused => new Refused({ kind, detail });

/** What will pass is asked for again after so long. */
export const RETRY_AFTER_S = 5;

/** As RFC 9457 writes it. */
export function problemDocument({ kind, detail, events }: Problem): string {
  const { title, status } = PROBLEM_TYPES[kind];
  return JSON.stringify({
    type: `urn:fleetgc:problem:${kind}`,
    title,
    status,
    detail,
    ...(events !== undefined && { events }),
  });
}

/** What a kind of problem is, whatever request has it. */
interface ProblemType {
  readonly status: Status;
  /** For people; the same for each problem of the kind. */
  readonly title: string;
  /** Whether the same request may work later. */
  readonly again: boolean;
}

const never = (status: Status, title: string): ProblemType => ({ status, title, again: false });
const later = (title: string): ProblemType => ({ status: 503, title, again: true });

const TYPES = {
  'no-cloud-event': never(400, 'It is no CloudEvent that can be read'),
  'bad-attribute': never(400, 'An attribute is none, or stands there twice'),
  'bad-body': never(400, 'The body is not JSON text'),
  'no-position': never(400, 'It does not say where it lies on the event log'),
  'not-taken': never(400, 'The function takes no events of this type or topic'),
  unauthorized: never(401, 'The caller shows no token that counts'),
  forbidden: never(403, 'The caller may not call'),
  unsigned: never(403, 'The event needs a signature'),
  'bad-signature': never(403, 'The signature is not that of the event'),
  'untrusted-key': never(403, 'The key of the signature does not count'),
  'not-found': never(404, 'There is nothing of this path'),
  'not-allowed': never(405, 'Events are sent with POST'),
  'too-large': never(413, 'It is larger than what is read'),
  'too-many-events': never(413, 'There are more events than are taken at once'),
  'unknown-content-type': never(415, 'Content of this type is not read'),
  'not-json': never(422, 'The data of the event is not JSON text'),
  'wrong-schema': never(422, 'The data is not what its type says'),
  'unknown-type': never(422, 'The type of the data does not belong on its topic'),
  'unknown-version': never(422, 'The version of the data is not known'),
  'header-mismatch': never(422, 'Attributes and data disagree'),
  'key-mismatch': never(422, 'The key is not that of the data'),
  'handler-failed': never(422, 'Nothing can be decided on it'),
  'too-many-headers': never(431, 'The request has more headers than are read'),
  internal: never(500, 'The function failed'),
  busy: later('Too much is being read at the moment'),
  'policies-unreadable': later('The policies cannot be relied on'),
  'keys-unreadable': later('It is not known whose signatures count'),
  'log-unreachable': later('The event log takes nothing'),
  unavailable: later('Something that the function needs is not there'),
} as const satisfies Readonly<Record<string, ProblemType>>;

export type ProblemKind = keyof typeof TYPES;

/** All that a function answers with where it does not decide: a closed list, for programs. */
export const PROBLEM_TYPES: Readonly<Record<ProblemKind, ProblemType>> = TYPES;

/** Causes that only who reads the event log tells of. */
const OF_THE_LOG = ['process-died', 'unreadable-batch'] as const satisfies readonly DeadLetterCause[];
type CauseOfTheLog = (typeof OF_THE_LOG)[number];
const isOfTheLog = (cause: DeadLetterCause): cause is CauseOfTheLog =>
  OF_THE_LOG.some((each) => each === cause);

/** What an event is that would be a dead letter for this cause. */
export const kindOfCause = (cause: DeadLetterCause): ProblemKind => (isOfTheLog(cause) ? 'internal' : cause);

const KINDS_OF_CODES: { readonly [Code in ErrorCode]?: ProblemKind } = {
  POLICIES_UNREADABLE: 'policies-unreadable',
  KEYS_UNREADABLE: 'keys-unreadable',
  LOG_UNREACHABLE: 'log-unreachable',
  LOG_BUSY: 'log-unreachable',
  LOG_FULL: 'log-unreachable',
  TOPICS_MISSING: 'log-unreachable',
};

/** What is wrong where a failure will pass. */
export const kindOfPassing = (code: ErrorCode): ProblemKind => KINDS_OF_CODES[code] ?? 'unavailable';

/** With which a request to decide is answered. */
export const STATUSES = [200, 204, 400, 401, 403, 404, 405, 413, 415, 422, 431, 500, 503] as const;
export type Status = (typeof STATUSES)[number];
