import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { type OutgoingEvent, outgoingEvent, structuredOutgoing } from '../outgoing-event.ts';
import { encodedHeader } from './binary-event.ts';
import { type Problem, problemDocument, RETRY_AFTER_S } from './problem.ts';
import { PROBLEM_TYPES } from './problem-types.ts';
import type { Status } from './statuses.ts';

/** What a request is answered with. */
export interface Answer {
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const BATCH_TYPE = 'application/cloudevents-batch+json';
const NOTHING = Buffer.alloc(0);

/** Events out: none, one in binary mode, or several in a batch, in the order in which they have to be published. */
export function eventsAnswer(records: readonly OutgoingRecord[], wantsBatch: boolean): Answer {
  const events = records.map(outgoingEvent);
  const [only, ...more] = events;
  if (!wantsBatch && only === undefined) return { status: 204, headers: {}, body: NOTHING };
  return wantsBatch || only === undefined || more.length > 0 ? batchAnswer(events) : binaryAnswer(only);
}

const batchAnswer = (events: readonly OutgoingEvent[]): Answer => ({
  status: 200,
  headers: { 'content-type': BATCH_TYPE },
  body: Buffer.from(JSON.stringify(events.map(structuredOutgoing))),
});

function binaryAnswer({ attributes: { datacontenttype, ...attributes }, data }: OutgoingEvent): Answer {
  const headers = Object.entries(attributes).map(([name, text]) => [`ce-${name}`, encodedHeader(text)]);
  return {
    status: 200,
    headers: { ...Object.fromEntries(headers), 'content-type': datacontenttype ?? 'application/json' },
    body: data,
  };
}

/** All of it is on the event log. */
export const PUBLISHED: Answer = { status: 204, headers: {}, body: NOTHING };

export function problemAnswer(problem: Problem): Answer {
  const { status, again } = PROBLEM_TYPES[problem.kind];
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(again && { 'retry-after': String(RETRY_AFTER_S) }),
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="fleetgc"' }),
      ...(status === 405 && { allow: 'POST' }),
    },
    body: Buffer.from(problemDocument(problem)),
  };
}
