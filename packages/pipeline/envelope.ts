import { eventType } from '../../schemas/events/envelope.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { Output } from '../decision/handler.ts';
import type { OutgoingRecord } from '../event-log/port.ts';
import type { TraceContext } from '../process/trace.ts';

/** `/fleetgc/<service>`, the source of what a decision service publishes. */
export const serviceSource = (service: string): string => `/fleetgc/${service}`;

/** `/fleetgc/<cluster>/<node>`, the source of what a node publishes. */
export const nodeSource = ({ cluster, node }: { readonly cluster: string; readonly node: string }): string =>
  `/fleetgc/${cluster}/${node}`;

/** What an envelope says beside the event. */
export interface Publication {
  /** Who publishes. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly trace: TraceContext;
}

/** The event in CloudEvents' binary mode: attributes as headers, the event as the value. */
export function toRecord(output: Output, { source, nowMs, trace }: Publication): OutgoingRecord {
  const { topic, key, event } = output;
  return {
    topic: TOPICS[topic].name,
    key,
    value: Buffer.from(JSON.stringify(event)),
    headers: {
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_type: eventType(event),
      ce_source: source,
      ce_time: new Date(nowMs).toISOString(),
      'content-type': 'application/json',
      ...trace,
    },
  };
}
