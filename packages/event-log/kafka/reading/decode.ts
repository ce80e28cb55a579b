import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { LogRecord } from '../../port.ts';

type HeaderValue = Buffer | string | (Buffer | string)[] | undefined;

/** A record as kafkajs decodes it. */
export interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  readonly isControlRecord?: boolean;
  /** Of a batch that could not be decoded, told at its last offset: why. */
  readonly unreadable?: string;
}

/** Of a header that is given several times the last one counts. */
function headerText(value: HeaderValue): string {
  const last = Array.isArray(value) ? value.at(-1) : value;
  return last?.toString() ?? '';
}

export const toLogRecord = (topic: TopicName, partition: number, message: FetchedMessage): LogRecord => ({
  topic,
  partition,
  offset: BigInt(message.offset),
  key: message.key?.toString() ?? null,
  value: message.value,
  headers: Object.fromEntries(
    Object.entries(message.headers ?? {}).map(([name, value]) => [name, headerText(value)]),
  ),
  timestampMs: Number(message.timestamp),
  ...(message.unreadable !== undefined && { unreadable: message.unreadable }),
});
