import { eventType } from '../../schemas/events/envelope.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { canonicalJson } from '../canonical/ids.ts';
import type { Output } from '../decision/handler.ts';
import type { LogPosition, LogPublisher, OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { newTrace, type TraceContext, type TraceIds } from '../process/trace.ts';
import type { Tracer } from '../process/tracer.ts';
import { HEADS } from './parse/parse-head.ts';
import type { Signer } from './trust/signer.ts';

/** What one message wants published, in stages. */
export type Stages = readonly (readonly OutgoingRecord[])[];

/** Publishes events in their envelopes. One per process. */
export interface Publisher {
  readonly ids: TraceIds;
  /** `null` where nobody traces. */
  readonly tracer: Tracer | null;
  /** The envelopes alone. */
  records(outputs: readonly Output[], trace: TraceContext): readonly OutgoingRecord[];
  /** Resolves when every event is acknowledged. Without a trace it begins one. */
  publish(outputs: readonly Output[], trace?: TraceContext): Promise<void>;
  send(records: readonly OutgoingRecord[]): Promise<void>;
}

/** An event that the log has. */
export interface AcknowledgedOutput {
  readonly output: Output;
  readonly record: OutgoingRecord;
  readonly position: LogPosition;
}

export interface PublisherSettings {
  readonly log: LogPublisher;
  /** `ce_source` of everything that is published: `serviceSource(...)` or `nodeSource(...)`. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly ids: TraceIds;
  readonly signer: Signer;
  /** Nobody traces when not given. */
  readonly tracer?: Tracer | null;
  /** Told of each event that this publisher made a record of, once the log has it. */
  readonly onAcknowledged?: (acknowledged: AcknowledgedOutput) => void;
}

export function createPublisher(settings: PublisherSettings): Publisher {
  const { log, source, now, ids, signer, tracer = null, onAcknowledged } = settings;
  const outputOf = new WeakMap<OutgoingRecord, Output>();
  const records = (outputs: readonly Output[], trace: TraceContext) =>
    outputs.map((output) => {
      const record = signer.sign(output.topic, toRecord(output, { source, nowMs: now(), trace }));
      if (onAcknowledged !== undefined) outputOf.set(record, output);
      return record;
    });
  const send = async (envelopes: readonly OutgoingRecord[]): Promise<void> => {
    if (envelopes.length === 0) return;
    const positions = await log.publish(envelopes);
    for (const [index, record] of envelopes.entries()) {
      const [output, position] = [outputOf.get(record), positions[index]];
      if (output !== undefined && position !== undefined) onAcknowledged?.({ output, record, position });
    }
  };
  return {
    ids,
    tracer,
    records,
    send,
    publish: (outputs, trace = newTrace(ids)) => send(records(outputs, trace)),
  };
}

/** `/fleetgc/<service>`, the source of what a decision service publishes. */
export const serviceSource = (service: string): string => `/fleetgc/${service}`;

/** `/fleetgc/<cluster>/<node>`, the source of what a node publishes. */
export const nodeSource = ({ cluster, node }: { readonly cluster: string; readonly node: string }): string =>
  `/fleetgc/${cluster}/${node}`;

/** `/fleetgc/<cluster>`, the source of what the agent and the executor of a cluster publish. */
export const clusterSource = (cluster: string): string => `/fleetgc/${cluster}`;

/** What an envelope says beside the event. */
export interface Publication {
  /** Who publishes. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly trace: TraceContext;
}

/** What CloudEvents has in no attribute: control characters, halves of characters, and what is no character. */
const NO_ATTRIBUTE = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/**
 * A record with a longer key has no subject: a key may fill half a record, and must fit into its dead letter.
 * @limit Size of a record key that `ce_subject` repeats.
 */
export const MAX_SUBJECT_BYTES = 1024;

/** Of keys those of dead letters alone may be anything. */
const isSubject = (key: string): boolean =>
  key !== '' && Buffer.byteLength(key) <= MAX_SUBJECT_BYTES && !NO_ATTRIBUTE.test(key);

/** The event in CloudEvents' binary mode: attributes as headers, the event as the value. */
export function toRecord(output: Output, { source, nowMs, trace }: Publication): OutgoingRecord {
  const { topic, key, event, text = textOf(output) } = output;
  return {
    topic: TOPICS[topic].name,
    key,
    value: Buffer.from(text),
    headers: {
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_type: eventType(event),
      ce_source: source,
      ...(isSubject(key) && { ce_subject: key }),
      ce_time: new Date(nowMs).toISOString(),
      'content-type': 'application/json',
      ...trace,
    },
  };
}

/**
 * Canonical, so that one text serves log, hash and signature, and equal events are equal bytes. Facts that may be passed over
 * are read by their beginning: they keep it in front.
 */
const textOf = ({ topic, event }: Output): string =>
  topic in HEADS ? JSON.stringify(event) : (canonicalText(event) ?? JSON.stringify(event));

/** `null` for what has no canonical form, such as half a character. Whoever reads it refuses it, and says why. */
function canonicalText(event: Output['event']): string | null {
  try {
    return canonicalJson(event);
  } catch {
    return null;
  }
}

/** What the log can never take, however often it is tried. */
export const isTooLarge = (error: unknown): error is FleetGcError =>
  error instanceof FleetGcError && error.code === 'LOG_RECORD_TOO_LARGE';
