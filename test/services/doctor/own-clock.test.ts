import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogReader, LogRecord } from '../../../packages/log/port.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { aheadByOrders } from '../../../services/doctor/log.ts';
import { observe } from '../../fixtures/observe.ts';
import { recordOf } from '../../support/logs/log-record.ts';

const MINUTE_MS = 60_000;
const ORDER = observe();
const KEY = `${ORDER.cluster}/${ORDER.node}`;
const TAKEN_MS = ORDER.takenAt.wallTimeMs;
const orderAt = (timestampMs: number, over: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('observe', ORDER), { timestampMs, ...over });

const logOf = (...records: readonly LogRecord[]): LogReader => ({
  async *read({ topic }) {
    for (const record of records)
      if (topic === TOPICS.observe.name) yield { kind: 'record', record } as const;
  },
});
const aheadIn = (log: LogReader) =>
  aheadByOrders(log, { key: KEY, nowMs: TAKEN_MS, signal: new AbortController().signal });

test('an order that came before what it answers was told, by the clock of the node, shows that it is ahead', async () => {
  expect(await aheadIn(logOf(orderAt(TAKEN_MS - 7 * MINUTE_MS)))).toBe(7 * MINUTE_MS);
  expect(await aheadIn(logOf(orderAt(TAKEN_MS + 100)))).toBe(-100);
});

test('the newest order counts: a clock that was set is right', async () => {
  expect(await aheadIn(logOf(orderAt(TAKEN_MS - 7 * MINUTE_MS), orderAt(TAKEN_MS + 100)))).toBe(-100);
});

test('orders to others, and what is none, show nothing', async () => {
  const others = orderAt(TAKEN_MS - 7 * MINUTE_MS, { key: 'prod/other' });
  const none = orderAt(TAKEN_MS - 7 * MINUTE_MS, { value: Buffer.from('{') });
  expect(await aheadIn(logOf(others, none))).toBeNull();
});
