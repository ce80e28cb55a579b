import type { Output } from '../decision/handler.ts';
import type { EventLog, OutgoingRecord } from '../event-log/port.ts';
import { newTrace, type TraceContext, type TraceIds } from '../process/trace.ts';
import { toRecord } from './envelope.ts';

/** Publishes events in their envelopes. One per process. */
export interface Publisher {
  readonly ids: TraceIds;
  /** The envelopes alone. */
  records(outputs: readonly Output[], trace: TraceContext): readonly OutgoingRecord[];
  /** Resolves when every event is acknowledged. Without a trace it begins one. */
  publish(outputs: readonly Output[], trace?: TraceContext): Promise<void>;
  send(records: readonly OutgoingRecord[]): Promise<void>;
}

export interface PublisherSettings {
  readonly log: Pick<EventLog, 'publish'>;
  /** `ce_source` of everything that is published: `serviceSource(...)` or `nodeSource(...)`. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly ids: TraceIds;
}

export function createPublisher({ log, source, now, ids }: PublisherSettings): Publisher {
  const records = (outputs: readonly Output[], trace: TraceContext) =>
    outputs.map((output) => toRecord(output, { source, nowMs: now(), trace }));
  const send = async (envelopes: readonly OutgoingRecord[]): Promise<void> => {
    if (envelopes.length > 0) await log.publish(envelopes);
  };
  return { ids, records, send, publish: (outputs, trace = newTrace(ids)) => send(records(outputs, trace)) };
}
