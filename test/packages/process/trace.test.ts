import { describe, expect, test } from 'vitest';
import { newTrace, nextHop, parseTraceparent } from '../../../packages/process/trace.ts';
import { countedIds, TRACEPARENT } from '../../support/logs/log-record.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

describe('a traceparent of others', () => {
  test.each([
    ['nothing', undefined],
    ['no traceparent', 'x'],
    ['a version that must not be', `ff-${TRACE}-b7ad6b7169203331-01`],
    ['more than its version has', `${TRACEPARENT}-x`],
    ['no trace', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', TRACEPARENT.toUpperCase()],
    ['a megabyte of a later version', `01-${TRACE}-b7ad6b7169203331-01-${'x'.repeat(2 ** 20)}`],
    ['a line break', `${TRACEPARENT}\n`],
  ])('that is %s begins a new trace', (_, traceparent) => {
    expect(parseTraceparent(traceparent)).toBeUndefined();
    const next = nextHop(traceparent === undefined ? {} : { traceparent }, countedIds());
    expect(next).toEqual({ traceparent: `00-${'1'.padStart(32, '0')}-${'2'.padStart(16, '0')}-01` });
  });

  test('of a later version is read by what this one knows', () => {
    const { traceparent } = nextHop({ traceparent: `01-${TRACE}-b7ad6b7169203331-01-later` }, countedIds());
    expect(traceparent).toBe(`00-${TRACE}-0000000000000001-01`);
  });

  test('passes on no flags that nobody knows', () => {
    const { traceparent } = nextHop({ traceparent: `00-${TRACE}-b7ad6b7169203331-fe` }, countedIds());
    expect(traceparent).toBe(`00-${TRACE}-0000000000000001-02`);
  });

  test('has a state that is passed on as long as anybody has to', () => {
    const passedOn = (tracestate: string) =>
      nextHop({ traceparent: TRACEPARENT, tracestate }, countedIds()).tracestate;
    expect(passedOn('a=1')).toBe('a=1');
    expect(passedOn('x'.repeat(513))).toBeUndefined();
  });
});

test.each([
  ['all where nobody samples', undefined, '01'],
  ['one that is recorded', true, '01'],
  ['one that is not', false, '00'],
])('a trace that begins says so: %s', (_, isSampled, flags) => {
  const ids = { ...countedIds(), ...(isSampled !== undefined && { isSampled: () => isSampled }) };
  expect(newTrace(ids).traceparent).toMatch(new RegExp(`-${flags}$`));
});
