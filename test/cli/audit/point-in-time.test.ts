import { expect, test } from 'vitest';
import { z } from 'zod';
import { pointMs, rangeOptions, timeRange } from '../../../services/cli/audit/point-in-time.ts';
import { HOUR, MINUTE, NOW } from '../../fixtures/time.ts';

const Options = z.object(rangeOptions);
const read = (from: string) => Options.safeParse({ from }).data?.from;

test.each([
  { given: '2026-01-01', is: NOW },
  { given: '2026-01-01T00:01Z', is: NOW + MINUTE },
  { given: '2026-01-01T00:01:00.000Z', is: NOW + MINUTE },
  { given: '2026-01-01T02:00:00+01:00', is: NOW + HOUR },
  { given: '0', is: NOW + 24 * HOUR },
  { given: '90m', is: NOW + 22.5 * HOUR },
  { given: '1h30m', is: NOW + 22.5 * HOUR },
  { given: '999999h', is: 0 },
])('$given is a time, a day after', ({ given, is }) => {
  const point = read(given);
  expect(point && pointMs(point, NOW + 24 * HOUR)).toBe(is);
});

test.each(['-1h', '2026-13-01', '2026-02-30', '2026-01-01T00:01:00', '1.1.2026', '2026', 'yesterday', ''])(
  '%s is none',
  (given) => {
    expect(read(given)).toBeUndefined();
  },
);

test('without limits all is read, and a range that ends before it begins is an error', () => {
  expect(timeRange({}, NOW)).toEqual({ fromMs: null, toMs: null });
  const point = { kind: 'at', ms: NOW } as const;
  expect(() => timeRange({ from: point, to: point }, NOW)).toThrow('nothing lies between');
  expect(timeRange({ from: { kind: 'ago', ms: 1 }, to: point }, NOW)).toEqual({ fromMs: NOW - 1, toMs: NOW });
});
