import type { LogRecord, OutgoingRecord } from '../../../../../packages/log/port.ts';
import { policyDocumentText } from '../../../../../packages/policy/policy-document.ts';
import { keyOf } from '../../../../../packages/records/parse/record-key.ts';
import { toRecord } from '../../../../../packages/records/publisher.ts';
import type { DiskStats } from '../../../../../schemas/events/disk-stats.ts';
import type { Inventory } from '../../../../../schemas/events/inventory.ts';
import type { EventOf, TopicId } from '../../../../../schemas/events/topics.ts';
import type { PolicyTopicRecord } from '../../../../../schemas/policy/policy.ts';
import { outgoingEvent } from '../../../../../services/deciders/functions/outgoing-event.ts';

const PUBLICATION = {
  source: '/fleetgc/test',
  nowMs: Date.UTC(2026, 0, 31),
  trace: { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
};

/** An event as its writer puts it onto the event log. */
export const outgoing = <Id extends TopicId>(topic: Id, event: EventOf<Id>): OutgoingRecord =>
  toRecord({ topic, key: keyOf(topic, event), event }, PUBLICATION);

/** The same where it lies. */
export const lying = <Id extends TopicId>(
  topic: Id,
  event: EventOf<Id>,
  { partition = 3, offset = 42n }: Partial<Pick<LogRecord, 'partition' | 'offset'>> = {},
): LogRecord => ({ ...outgoing(topic, event), partition, offset, timestampMs: PUBLICATION.nowMs });

/** An event as a caller sends it. */
export interface SentEvent {
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: Buffer;
}

export function sentEvent({ partition, offset, ...record }: LogRecord): SentEvent {
  const { attributes, data } = outgoingEvent({ ...record, key: record.key ?? '' });
  return {
    attributes: { ...attributes, fleetgcpartition: String(partition), fleetgcoffset: String(offset) },
    data,
  };
}

export const inventoryEvent = (event: Inventory): SentEvent => sentEvent(lying('inventory', event));
export const diskStatsEvent = (event: DiskStats): SentEvent => sentEvent(lying('diskStats', event));

export const structured = ({ attributes, data }: SentEvent): object => ({
  ...attributes,
  data_base64: data.toString('base64'),
});

/** A document of these policies that nobody signed. */
export function unsignedDocument(policies: readonly PolicyTopicRecord[], exportedAtMs: number): Buffer {
  const records = policies.map((event, index) => ({
    ...lying('policies', event, { partition: 0, offset: BigInt(index) }),
    key: keyOf('policies', event),
  }));
  const writing = policyDocumentText({ exportedAtMs, keys: [], policies: records, sign: (head) => head });
  if (!writing.ok) throw new Error(writing.tooMuch);
  return Buffer.from(writing.text);
}
