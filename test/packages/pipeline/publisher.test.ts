import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { nodeSource, serviceSource, toRecord } from '../../../packages/pipeline/publisher.ts';
import { newTrace, nextHop, parseTraceparent } from '../../../packages/process/trace.ts';
import { randomTraceIds } from '../../../packages/process/trace-ids.ts';
import { EnvelopeHeaders } from '../../../schemas/events/envelope.ts';
import { decision } from '../../fixtures/outputs.ts';
import { countedIds, NOW_MS, TRACEPARENT } from '../../support/logs/log-record.ts';

test('an event becomes a CloudEvent in binary mode', () => {
  const record = toRecord(nodeOutput('decisions', decision()), {
    source: serviceSource('image-gc'),
    nowMs: NOW_MS,
    trace: { traceparent: TRACEPARENT, tracestate: 'vendor=1' },
  });
  expect(record).toEqual({
    topic: 'gc.node.decisions',
    key: 'prod/web-1',
    value: Buffer.from(JSON.stringify(decision())),
    headers: {
      ce_specversion: '1.0',
      ce_id: 'decision-1',
      ce_type: 'fleetgc.node.decision.v1',
      ce_source: '/fleetgc/image-gc',
      ce_time: '2026-01-01T00:00:00.000Z',
      'content-type': 'application/json',
      traceparent: TRACEPARENT,
      tracestate: 'vendor=1',
    },
  });
  expect(EnvelopeHeaders.parse(record.headers)).toEqual(record.headers);
});

test('a node names itself as the source', () => {
  expect(nodeSource({ cluster: 'prod', node: 'web-1' })).toBe('/fleetgc/prod/web-1');
});

test('the trace of the input goes on with a new span', () => {
  expect(nextHop({ traceparent: TRACEPARENT, tracestate: 'vendor=1' }, countedIds())).toEqual({
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01',
    tracestate: 'vendor=1',
  });
});

test('whether a trace is sampled is for its beginner to say', () => {
  const unsampled = TRACEPARENT.replace(/01$/, '00');
  expect(nextHop({ traceparent: unsampled }, countedIds()).traceparent).toMatch(/-00$/);
});

test.each<[name: string, traceparent: string | undefined]>([
  ['none', undefined],
  ['nonsense', 'nonsense'],
  ['an id of zeros', '00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  ['a span of zeros', '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  ['the version that is none', TRACEPARENT.replace(/^00/, 'ff')],
  ['more than version 00 has', `${TRACEPARENT}-extra`],
  ['capital letters', TRACEPARENT.toUpperCase()],
])('a new trace begins where the input has %s', (_name, traceparent) => {
  expect(
    nextHop({ ...(traceparent !== undefined && { traceparent }), tracestate: 'vendor=1' }, countedIds()),
  ).toEqual({
    traceparent: `00-${'1'.padStart(32, '0')}-${'2'.padStart(16, '0')}-01`,
  });
});

test('a later version of the trace context is understood as far as it is known', () => {
  expect(parseTraceparent(`${TRACEPARENT.replace(/^00/, '01')}-more`)?.traceId).toBe(
    '0af7651916cd43dd8448eb211c80319c',
  );
});

test('random ids make a valid trace', () => {
  expect(parseTraceparent(newTrace(randomTraceIds).traceparent)).toBeDefined();
});
