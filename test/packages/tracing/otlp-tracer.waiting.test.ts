import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { newTrace, nextHop, parseTraceparent } from '../../../packages/process/trace.ts';
import type { Span } from '../../../packages/process/tracer.ts';
import { openTracer } from '../../../packages/tracing/open-tracer.ts';
import {
  MAX_WAITING,
  MOST_REMOTE_AT_ONCE,
  MOST_REMOTE_PER_SECOND,
} from '../../../packages/tracing/otlp-tracer.ts';
import type { Sampling } from '../../../packages/tracing/port.ts';
import { waitUntil } from '../../support/wait-until.ts';

const EXPORTED_MS = 20_000;

/** Somebody who takes what is sent, and answers as it is said. */
async function collector(answer: (response: ServerResponse) => void) {
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    bodies.push(Buffer.concat(parts));
    answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { bodies, url: `http://127.0.0.1:${port}/v1/traces` };
}

const ALL: Sampling = { ratio: 1, isParentBased: true };

async function open(url: string, sampling = ALL, monotonicNow = () => performance.now()) {
  const metrics = createMetrics();
  const tracer = await openTracer(
    { url, sampling },
    {
      ids: randomTraceIds,
      resource: { 'service.name': 'fleetgc-test' },
      ofMessages: { 'messaging.system': 'kafka' },
      metrics,
      logger: pino({ level: 'silent' }),
      monotonicNow,
    },
  );
  const count = async (outcome: string): Promise<number> => {
    const line = new RegExp(`^fleetgc_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)`, 'm');
    return Number(line.exec(await metrics.text())?.[1]);
  };
  return { tracer, count };
}

const span = (over: Partial<Span> = {}): Span => ({
  name: 'process gc.node.inventory',
  kind: 'consumer',
  context: newTrace(randomTraceIds),
  parent: null,
  links: [],
  startMs: 1_000,
  endMs: 1_002.5,
  attributes: { 'k8s.node.name': 'node-1' },
  failure: null,
  ...over,
});

const bytesOf = (traceparent: string) => {
  const { traceId = '', spanId = '' } = parseTraceparent(traceparent) ?? {};
  return { traceId: Buffer.from(traceId, 'hex'), spanId: Buffer.from(spanId, 'hex') };
};

describe('a span', () => {
  test('is sent with the ids that messages carried, its parent, and what it is about', async () => {
    const { bodies, url } = await collector((response) => response.end());
    const { tracer, count } = await open(url);
    const parent = newTrace(randomTraceIds);
    const context = nextHop(parent, randomTraceIds);
    tracer.record(span({ parent, context }));
    await tracer[Symbol.asyncDispose]();
    const sent = Buffer.concat(bodies);
    const own = bytesOf(context.traceparent);
    for (const part of [own.traceId, own.spanId, bytesOf(parent.traceparent).spanId])
      expect(sent.includes(part)).toBe(true);
    for (const text of ['process gc.node.inventory', 'fleetgc-test', 'messaging.system', 'k8s.node.name'])
      expect(sent.includes(text)).toBe(true);
    expect(await count('exported')).toBe(1);
  });

  test('has no parent of another trace than its own, which only a forged message could name', async () => {
    const { bodies, url } = await collector((response) => response.end());
    const { tracer } = await open(url);
    const [parent, context] = [newTrace(randomTraceIds), newTrace(randomTraceIds)];
    tracer.record(span({ parent, context }));
    await tracer[Symbol.asyncDispose]();
    const sent = Buffer.concat(bodies);
    expect(sent.includes(bytesOf(context.traceparent).traceId)).toBe(true);
    expect(sent.includes(bytesOf(parent.traceparent).spanId)).toBe(false);
  });

  test('has values of a bounded length', async () => {
    const { bodies, url } = await collector((response) => response.end());
    const { tracer } = await open(url);
    tracer.record(span({ attributes: { 'fleetgc.object.id': 'x'.repeat(2 ** 20) } }));
    await tracer[Symbol.asyncDispose]();
    expect(Buffer.concat(bodies).length).toBeLessThan(2_000);
  });
});

describe('is recorded', () => {
  const flagged = (flags: string) => ({
    traceparent: newTrace(randomTraceIds).traceparent.replace(/01$/, flags),
  });
  test.each([
    ['who began the trace says so', ALL, '01', 1],
    ['not where who began it says no', ALL, '00', 0],
    ['all, whoever began it', { ratio: 1, isParentBased: false }, '00', 1],
    ['none', { ratio: 0, isParentBased: false }, '01', 0],
  ])('where %s', async (_, sampling, flags, exported) => {
    const { url } = await collector((response) => response.end());
    const { tracer, count } = await open(url, sampling);
    tracer.record(span({ context: flagged(flags) }));
    await tracer[Symbol.asyncDispose]();
    expect(await count('exported')).toBe(exported);
  });

  test('as a trace that begins here says itself', async () => {
    const { tracer } = await open('http://127.0.0.1:9/', { ratio: 0, isParentBased: true });
    expect(newTrace(tracer.ids).traceparent).toMatch(/-00$/);
    const all = await open('http://127.0.0.1:9/');
    expect(newTrace(all.tracer.ids).traceparent).toMatch(/-01$/);
    await Promise.all([tracer, all.tracer].map((each) => each[Symbol.asyncDispose]()));
  });
});

describe('a collector', () => {
  test('that never answers takes a bounded number of spans, the rest is counted, and the end waits for it in vain', async () => {
    const { bodies, url } = await collector(() => undefined);
    const { tracer, count } = await open(url);
    // The first batch is on its way to nowhere.
    for (let i = 0; i < 512; i++) tracer.record(span({ kind: 'producer' }));
    await waitUntil('a batch to be sent', EXPORTED_MS, () => bodies.length > 0);
    for (let i = 0; i < MAX_WAITING + 100; i++) tracer.record(span({ kind: 'producer' }));
    expect(await count('queue-full')).toBe(100);
    const ended = await Promise.race([
      tracer[Symbol.asyncDispose]().then(() => 'ended'),
      wait(60_000, 'hangs', { ref: false }),
    ]);
    expect(ended).toBe('ended');
    expect(await count('export-failed')).toBe(512 + MAX_WAITING);
  });

  test.each([
    ['refuses', (response: ServerResponse) => response.writeHead(400).end()],
    ['sends us elsewhere', (response: ServerResponse) => response.writeHead(302, { location: '/x' }).end()],
  ])('that %s loses what it was sent, once', async (_, answer) => {
    const { bodies, url } = await collector(answer);
    const { tracer, count } = await open(url);
    tracer.record(span());
    await tracer[Symbol.asyncDispose]();
    expect(bodies.length).toBe(1);
    expect([await count('export-failed'), await count('exported')]).toEqual([1, 0]);
  });

  test('that is not there', async () => {
    const { tracer, count } = await open('http://127.0.0.1:9/v1/traces');
    tracer.record(span());
    await tracer[Symbol.asyncDispose]();
    expect([await count('export-failed'), await count('exported')]).toEqual([1, 0]);
  });
});

test('a span that nobody can send is lost, and nobody hears of it', async () => {
  const { tracer } = await open('http://127.0.0.1:9/');
  tracer.record(span({ context: { traceparent: 'none' } }));
  tracer.record(span({ startMs: Number.NaN }));
  await tracer[Symbol.asyncDispose]();
});

test('a flood of messages whose sender says that they are sampled takes a share a second; the rest is counted', async () => {
  const { url } = await collector((response) => response.end());
  let nowMs = 0;
  const { tracer, count } = await open(url, ALL, () => nowMs);
  const flood = (spans: number): void => {
    for (let number = 0; number < spans; number += 1) tracer.record(span());
  };
  flood(MOST_REMOTE_AT_ONCE + 50_000);
  expect(await count('remote-surplus')).toBe(50_000);
  tracer.record(span({ kind: 'producer' }));
  nowMs += 1_000;
  flood(MOST_REMOTE_PER_SECOND + 7);
  expect(await count('remote-surplus')).toBe(50_007);
  await tracer[Symbol.asyncDispose]();
  expect(await count('exported')).toBe(MOST_REMOTE_AT_ONCE + MOST_REMOTE_PER_SECOND + 1);
});
