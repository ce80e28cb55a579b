import { SUBJECTS } from '../../schemas/events/identity.ts';
import type { EventOf, TopicAbout, TopicId } from '../../schemas/events/topics.ts';
import type { TraceContext } from '../process/trace.ts';

/** Where a message lies on the log, and the hash of its bytes. */
export interface InputPosition {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly sha256: string;
}

/** A parsed message and where it came from. */
export interface Input<Event> {
  readonly event: Event;
  readonly position: InputPosition;
  /** For what a handler publishes later by itself: the W3C trace context that follows from the message. */
  readonly trace?: TraceContext;
  /** The id of the key that signed it, where one did. */
  readonly signedBy?: string | null;
  /** The message as it lies on the log, for whoever keeps it. */
  readonly bytes?: Buffer;
}

/** An event to publish. */
export interface Output<Id extends TopicId = TopicId> {
  readonly topic: Id;
  readonly key: string;
  readonly event: EventOf<Id>;
  /** The canonical JSON of the event, where it was written already. */
  readonly text?: string;
}

/** One whose text served for a hash. */
export interface WrittenOutput<Id extends TopicId = TopicId> extends Output<Id> {
  readonly text: string;
}

/** What a handler wants published, in stages: a later stage is sent only after the earlier one was acknowledged. */
export type Outputs = readonly (readonly Output[])[];

/**
 * One event in, events out. Usable as it is behind any trigger that delivers parsed messages. It throws a
 * `FleetGcError` that says whether to try again.
 */
export type Handler<Event> = (input: Input<Event>) => Outputs | Promise<Outputs>;

/** What a decider gives: its record first, with the hash of all of it. */
export type DecidedOutputs = readonly (readonly WrittenOutput[])[];

/** A handler that needs its input alone. */
export type PureHandler<Event> = (input: Input<Event>) => DecidedOutputs;

/** An output about a node, keyed as its topic wants. */
export const nodeOutput = <Id extends TopicAbout<'node'>>(topic: Id, event: EventOf<Id>): Output<Id> => ({
  topic,
  key: SUBJECTS.node.keyOf(event),
  event,
});

/** An output about a cluster, keyed as its topic wants. */
export const clusterOutput = <Id extends TopicAbout<'cluster'>>(
  topic: Id,
  event: EventOf<Id>,
): Output<Id> => ({
  topic,
  key: SUBJECTS.cluster.keyOf(event),
  event,
});
