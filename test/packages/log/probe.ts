import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type {
  EventLog,
  EventLogContext,
  LogRecord,
  OutgoingRecord,
  ReadRequest,
  SliceHandler,
  Subscription,
} from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { patiently } from '../../support/patience.ts';

export const silentContext = (over: Partial<EventLogContext> = {}): EventLogContext => ({
  logger: pino({ level: process.env.FLEETGC_TEST_LOG ?? 'silent' }),
  now: Date.now,
  random: Math.random,
  newId: randomUUID,
  ...over,
});

/** Waits for a condition that usually comes within `usualMs`; says what was missing when it does not come. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  usualMs = 10_000,
): Promise<void> {
  const atMostMs = patiently(usualMs);
  const deadline = performance.now() + atMostMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${atMostMs} ms in vain for: ${what}`);
    await sleep(5);
  }
}

/** Settles as `work` does, which usually takes `usualMs` at the most, or says what did not happen in time. */
export async function within<T>(what: string, work: Promise<T>, usualMs = 10_000): Promise<T> {
  const atMostMs = patiently(usualMs);
  const late = new AbortController();
  const alarm = sleep(atMostMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`waited ${atMostMs} ms in vain for: ${what}`);
  });
  try {
    return await Promise.race([work, alarm]);
  } finally {
    late.abort();
    alarm.catch(() => undefined);
  }
}

/** A promise to be settled from outside. */
export const deferred = () => Promise.withResolvers<void>();

export const uniqueKey = (): string => `test/node-${randomUUID()}`;
export const uniqueGroup = (): string => `test-${randomUUID()}`;

export const outgoing = (over: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  topic: 'gc.node.results',
  key: uniqueKey(),
  value: Buffer.from('value'),
  headers: {},
  ...over,
});

export const text = (record: LogRecord): string => record.value?.toString() ?? '(tombstone)';

export const subscriptionOf = (over: Partial<Subscription> = {}): Subscription => ({
  group: uniqueGroup(),
  topics: ['gc.node.results'],
  start: 'earliest',
  assignment: { kind: 'shared' },
  ...over,
});

/** A handler that keeps what it got; of one key only, since tests share topics. */
export function collector(key: string) {
  const records: LogRecord[] = [];
  const slices: (readonly LogRecord[])[] = [];
  const handle: SliceHandler = async (slice) => {
    slices.push(slice);
    records.push(...slice.filter((record) => record.key === key));
  };
  return { records, slices, handle, texts: () => records.map(text) };
}

/** Reads what lies on a topic now, of one key. */
export async function readAll(
  log: EventLog,
  key: string,
  over: Partial<ReadRequest> = {},
): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  const request: ReadRequest = { topic: 'gc.node.results', from: 'earliest', to: 'end', ...over };
  for await (const event of log.read(request)) {
    if (event.kind === 'record' && event.record.key === key) records.push(event.record);
  }
  return records;
}

/** A key whose partition of a topic is another one than that of `key`. */
export function keyElsewhere(
  key: string,
  topic: TopicName,
  partitionOf: (topic: TopicName, key: string) => number,
) {
  for (;;) {
    const other = uniqueKey();
    if (partitionOf(topic, other) !== partitionOf(topic, key)) return other;
  }
}
