import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  lookForLateRequests,
  type RequestQueue,
  repairRequestQueue,
  scheduleWhenPending,
  tellRefusals,
} from '../../../../packages/log/kafka/client/kafkajs-repairs.ts';
import { DAY } from '../../../fixtures/time.ts';

const NOW = Date.UTC(2026, 0, 1);
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const queue = (over: Partial<RequestQueue> = {}) => ({
  pending: [] as unknown[],
  throttledUntil: -1,
  throttleCheckTimeoutId: null,
  checkPendingRequests: vi.fn(),
  ...over,
});

test('an idle connection arms no timer, also while it is throttled', () => {
  scheduleWhenPending(queue());
  scheduleWhenPending(queue({ throttledUntil: NOW + 5000 }));
  expect(vi.getTimerCount()).toBe(0);
});

test('requests held back by a throttling are looked at when it ends', () => {
  const throttled = queue({ pending: ['request'], throttledUntil: NOW + 5000 });
  scheduleWhenPending(throttled);
  scheduleWhenPending(throttled);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(4999);
  expect(throttled.checkPendingRequests).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(throttled.checkPendingRequests).toHaveBeenCalledOnce();
  expect(throttled.throttleCheckTimeoutId).toBeNull();
});

test('requests that wait for a free place are looked at soon, never after a negative delay', () => {
  const full = queue({ pending: ['request'] });
  scheduleWhenPending(full);
  vi.advanceTimersByTime(9);
  expect(full.checkPendingRequests).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(full.checkPendingRequests).toHaveBeenCalledOnce();
});

test('the installed kafkajs is repaired: its own queue does nothing while it is idle, and sends what was held back', () => {
  repairRequestQueue();
  const Queue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  const logger = { debug: () => undefined };
  const real = new Queue({
    maxInFlightRequests: 1,
    requestTimeout: 1000,
    clientId: 'c',
    broker: 'b',
    logger,
  });
  real.checkPendingRequests();
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);

  real.maybeThrottle(100);
  const sendRequest = vi.fn();
  real.push({ entry: { correlationId: 1 }, expectResponse: true, sendRequest });
  expect(sendRequest).not.toHaveBeenCalled();
  vi.advanceTimersByTime(110);
  expect(sendRequest).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['forward', 1],
  ['back', -1],
])(
  'a wall clock that is set %s by a day neither ends a request that waits nor spares one that is late',
  (_, sign) => {
    const request = { sentAt: NOW, requestTimeout: 30_000, timeoutRequest: vi.fn() };
    lookForLateRequests({
      enforceRequestTimeout: true,
      inflight: new Map([[1, request]]),
      requestTimeoutIntervalId: setInterval(() => undefined, 1000),
      isConnected: () => true,
      destroy: vi.fn(),
    });
    vi.advanceTimersByTime(10_000);
    vi.setSystemTime(NOW + sign * DAY);
    vi.advanceTimersByTime(15_000);
    expect(request.timeoutRequest).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10_000);
    expect(request.timeoutRequest).toHaveBeenCalled();
  },
);

test('the installed kafkajs is repaired: it looks for late requests once a second, ends them, and stops when cut off', () => {
  repairRequestQueue();
  const Queue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  const logger = { debug: () => undefined };
  let connected = true;
  const real = new Queue({
    maxInFlightRequests: 1,
    requestTimeout: 5000,
    enforceRequestTimeout: true,
    clientId: 'c',
    broker: 'b',
    logger,
    isConnected: () => connected,
  });
  const reject = vi.fn();
  real.scheduleRequestTimeoutCheck();
  const entry = { correlationId: 1, apiName: 'Fetch', apiKey: 1, apiVersion: 11, reject };
  real.push({ entry, expectResponse: true, sendRequest: () => undefined });
  vi.advanceTimersByTime(5000);
  expect(reject).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(reject).toHaveBeenCalledOnce();
  connected = false;
  vi.advanceTimersByTime(1000);
  expect(vi.getTimerCount()).toBe(0);
});

/** As kafkajs does: whatever a broker says, the next one is asked. */
async function withBroker(ask: (of: unknown) => Promise<unknown>): Promise<unknown> {
  for (const broker of ['one', 'two']) {
    try {
      return await ask(broker);
    } catch {}
  }
  return null;
}

test.each<{ readonly name: string; readonly says: readonly unknown[]; readonly answer: unknown }>([
  { name: 'an answer', says: ['found'], answer: 'found' },
  { name: 'a broker that is away', says: [new Error('away'), 'found'], answer: 'found' },
  { name: 'brokers that are away', says: [new Error('away'), new Error('away')], answer: null },
  {
    name: 'a refusal that another broker knows nothing of',
    says: [refused('GROUP_AUTHORIZATION_FAILED'), 'found'],
    answer: 'found',
  },
])('asking one of the brokers gives $name', async ({ says, answer }) => {
  const left = [...says];
  const ask = async (): Promise<unknown> => {
    const next = left.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  await expect(tellRefusals(withBroker)(ask)).resolves.toBe(answer);
});

test('a refusal is told, and does not pass for brokers that are away', async () => {
  const refusal = refused('GROUP_AUTHORIZATION_FAILED');
  await expect(tellRefusals(withBroker)(() => Promise.reject(refusal))).rejects.toBe(refusal);
});

function refused(type: string): Error {
  return Object.assign(new Error('not allowed'), { type });
}
