import type { EventOf, FleetEvent, TopicId } from '../../schemas/events/topics.ts';
import { valueSha256 } from '../canonical/ids.ts';
import type { Handler, Input, Outputs } from '../decision/handler.ts';
import type { OvertakenInput } from '../decision/overtaking.ts';
import type { LogRecord } from '../log/port.ts';
import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import { nextHop, type TraceContext } from '../process/trace.ts';
import type { FailedMessage } from './dead-letters/dead-letters.ts';
import type { Overtaken, Seen } from './look-ahead.ts';
import type { ParsedRecord, Rejection } from './parse/parse-record.ts';
import type { Publisher, Stages } from './publisher.ts';

/** A handler for each topic that is consumed. */
export type Handlers = { readonly [Id in TopicId]?: Handler<EventOf<Id>> };

/** Is told of each message that can be read, before it is handled: for what watches beside the handler. */
export type OnEvent = (event: FleetEvent, record: LogRecord) => void;

/** Is told what follows from each message, `null` for one that is passed over; for what watches beside the handler. */
export type OnOutputs = (event: FleetEvent | null, outputs: Outputs) => void;

/** Says what to publish about a message that is no event, such as the refusal of a malformed command. */
export type OnRejection = (topic: TopicId, rejection: Rejection, record: LogRecord) => Outputs;

/** Says what to publish about a message that is passed over for a newer one. */
export type OnOvertaken = (input: OvertakenInput) => Outputs;

/** What follows from one message: records to publish in stages, or why it cannot be processed, or both. */
export interface Handled {
  readonly record: LogRecord;
  readonly stages: Stages;
  readonly failure: FailedMessage | null;
  /** Passed over for a newer message. */
  readonly isOvertaken: boolean;
  /** What a handler was given and what it gave, for who traces; missing where none was asked. */
  readonly work?: HandledWork;
}

export interface HandledWork {
  readonly event: FleetEvent;
  /** Of all that follows from it. */
  readonly trace: TraceContext;
  /** None where the handler failed. */
  readonly outputs: Outputs;
}

export interface Handling {
  readonly handlers: Handlers;
  readonly onEvent?: OnEvent;
  readonly onOutputs?: OnOutputs;
  readonly onRejection?: OnRejection;
  /** Answers for messages that are passed over for newer ones; where it is not given none is. */
  readonly onOvertaken?: OnOvertaken;
  readonly publisher: Publisher;
}

/**
 * How often a handler is tried with a message on which it fails for a reason that time does not mend.
 * @limit Attempts of a handler before a message becomes a dead letter.
 */
const MAX_TRIES = 3;

/** What follows from a record that was read, as its topic's handler says. Throws only what will pass: a `FleetGcError` with `retry`. */
export async function decide(topic: TopicId, seen: Seen, handling: Handling): Promise<Handled> {
  const { record } = seen;
  const trace = nextHop(record.headers, handling.publisher.ids);
  const read = { record, trace, handling };
  return seen.kind === 'overtaken'
    ? await handleOvertaken(seen, read)
    : await handleParsed(topic, seen.parsed, read);
}

interface Read {
  readonly record: LogRecord;
  readonly trace: TraceContext;
  readonly handling: Handling;
}

async function handleParsed<Id extends TopicId>(
  topic: Id,
  parsed: ParsedRecord<EventOf<Id>>,
  read: Read,
): Promise<Handled> {
  const { record, trace, handling } = read;
  if (!parsed.ok) return await rejected(topic, parsed.rejection, read);
  handling.onEvent?.(parsed.event, record);
  const handler: Handler<EventOf<Id>> | undefined = handling.handlers[topic];
  if (!handler) throw new TypeError(`no handler for ${topic}`);
  const signedBy = parsed.signedBy ?? null;
  const { event } = parsed;
  const input = { event, ...inputOf(record), signedBy, trace };
  let outputs: Outputs = [];
  const tried = await tryAgain(async () => {
    outputs = await handler(input);
    return told(event, outputs, read);
  });
  return { ...settled(record, tried), work: { event, trace, outputs: tried.ok ? outputs : [] } };
}

async function handleOvertaken({ head, overtakenBy }: Overtaken, read: Read): Promise<Handled> {
  const { record, trace, handling } = read;
  const { onOvertaken } = handling;
  if (!onOvertaken) throw new TypeError('nothing is passed over where nobody answers for it');
  const input = { event: head, ...inputOf(record), trace, overtakenBy };
  const tried = await tryAgain(async () => told(null, onOvertaken(input), read));
  return { ...settled(record, tried), isOvertaken: tried.ok };
}

function settled(record: LogRecord, tried: Tried): Handled {
  if (tried.ok) return { record, stages: tried.stages, failure: null, isOvertaken: false };
  const { error } = tried;
  const failure = { record, cause: 'handler-failed', message: error.message, error } as const;
  return { record, stages: [], failure, isOvertaken: false };
}

async function rejected(topic: TopicId, rejection: Rejection, read: Read): Promise<Handled> {
  const { record, trace, handling } = read;
  const { cause, message } = rejection;
  const tried = await tryAgain(async () =>
    toStages(handling.onRejection?.(topic, rejection, record) ?? [], trace, handling),
  );
  const failure = { record, cause, message, ...(!tried.ok && { error: tried.error }) };
  return { record, stages: tried.ok ? tried.stages : [], failure, isOvertaken: false };
}

function told(event: FleetEvent | null, outputs: Outputs, { trace, handling }: Read): Stages {
  handling.onOutputs?.(event, outputs);
  return toStages(outputs, trace, handling);
}

const toStages = (outputs: Outputs, trace: TraceContext, { publisher }: Handling): Stages =>
  outputs.map((stage) => publisher.records(stage, trace));

const NO_BYTES = Buffer.alloc(0);

const inputOf = ({
  topic,
  partition,
  offset,
  value,
}: LogRecord): Omit<Input<unknown>, 'event' | 'trace'> => ({
  position: { topic, partition, offset: String(offset), sha256: valueSha256(value ?? NO_BYTES) },
  ...(value !== null && { bytes: value }),
});

type Tried =
  | { readonly ok: true; readonly stages: Stages }
  | { readonly ok: false; readonly error: FleetGcError };

async function tryAgain(handle: () => Promise<Stages>, tries = 1): Promise<Tried> {
  try {
    return { ok: true, stages: await handle() };
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.retry) throw error;
    return tries < MAX_TRIES ? await tryAgain(handle, tries + 1) : { ok: false, error };
  }
}
