import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  Bytes,
  DurationMs,
  parseDurationMs,
  parsePercent,
  parseQuantity,
} from '../../schemas/policy/quantity.ts';

describe('duration in Go form', () => {
  test.each<[text: string, ms: number]>([
    ['0', 0],
    ['0s', 0],
    ['-0s', 0],
    ['1m30s', 90_000],
    ['+1m30s', 90_000],
    ['-1s', -1_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['1s1s', 2_000],
    ['1h2m3s4ms', 3_723_004],
    ['0.001s', 1],
    ['1000us', 1],
    ['1000µs', 1],
    ['1000μs', 1],
    ['1000000ns', 1],
    ['0.5ms500us', 1],
    ['1ns', 1],
    ['0.5ms', 1],
    ['1.000001ms', 2],
    ['-1ns', -1],
    ['0ns', 0],
    ['9223372036854ms', 9_223_372_036_854],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  test.each([
    '',
    ' ',
    '1',
    '-',
    's',
    '1 s',
    '1s ',
    '1S',
    '1d',
    '1w',
    '.s',
    '1..5s',
    '1e3s',
    '0x1s',
    '--1s',
    '1m-30s',
    '١s',
    'NaN',
    'Infinity',
    '9223372036855ms',
    `${'0'.repeat(64)}s`,
  ])('refuses %j', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  test('any sum of whole units is exact', () => {
    const part = fc.nat({ max: 10_000 });
    fc.assert(
      fc.property(part, part, part, part, (h, m, s, ms) => {
        expect(parseDurationMs(`${h}h${m}m${s}s${ms}ms`)).toBe(((h * 60 + m) * 60 + s) * 1000 + ms);
      }),
    );
  });
});

describe('quantity in Kubernetes form', () => {
  test.each<[text: string, value: bigint]>([
    ['0', 0n],
    ['1024', 1024n],
    ['+1', 1n],
    ['10Gi', 10n * 2n ** 30n],
    ['1.5Gi', 1_610_612_736n],
    ['.5Ki', 512n],
    ['1.Ki', 1024n],
    ['1k', 1_000n],
    ['100M', 100_000_000n],
    ['1E', 10n ** 18n],
    ['1e3', 1_000n],
    ['1E3', 1_000n],
    ['1.5e+2', 150n],
    ['1000e-3', 1n],
    ['7Ei', 7n * 2n ** 60n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['9007199254740993', 9_007_199_254_740_993n],
  ])('%s is %s', (text, value) => {
    expect(parseQuantity(text)).toBe(value);
  });

  test.each<[text: string, value: bigint]>([
    ['1m', 1n],
    ['999m', 1n],
    ['1000m', 1n],
    ['1001m', 2n],
    ['1n', 1n],
    ['0.1', 1n],
    ['0m', 0n],
  ])('%s is rounded up to %s', (text, value) => {
    expect(parseQuantity(text)).toBe(value);
  });

  test.each([
    '',
    ' ',
    'Gi',
    '1 Gi',
    '1Gi ',
    '1gi',
    '1KI',
    '1K',
    '1GB',
    '1b',
    '-1',
    '-1Gi',
    '1.2.3',
    '.',
    '0x10',
    '1e',
    '1e1.5',
    '1e99',
    '1e-19',
    '1i',
    'NaN',
    '8Ei',
    '9223372036854775808',
    '1,000',
    '٣',
    '1'.repeat(65),
  ])('refuses %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  test('whole numbers are exact up to 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (value) => {
        expect(parseQuantity(String(value))).toBe(value);
      }),
    );
  });
});

describe('percentage', () => {
  test.each<[text: string, numerator: bigint, denominator: bigint]>([
    ['0%', 0n, 100n],
    ['85%', 85n, 100n],
    ['100%', 100n, 100n],
    ['12.5%', 125n, 1000n],
    ['0.000000001%', 1n, 100_000_000_000n],
  ])('%s is %s/%s', (text, numerator, denominator) => {
    expect(parsePercent(text)).toEqual({ numerator, denominator });
  });

  test.each(['', '%', '85', '101%', '100.000000001%', '-1%', '1e1%', ' 1%', '1 %', '.5%', '5.%', '0x1%'])(
    'refuses %j',
    (text) => {
      expect(parsePercent(text)).toBeUndefined();
    },
  );
});

describe('as schemas', () => {
  test('say what is wanted', () => {
    expect(DurationMs.safeParse('soon').error?.issues[0]?.message).toContain('1m30s');
    expect(Bytes.safeParse('-1Gi').error?.issues[0]?.message).toContain('10Gi');
  });

  test('give the value', () => {
    expect(DurationMs.parse('2m')).toBe(120_000);
    expect(Bytes.parse('1Ki')).toBe(1024n);
  });

  test('no text makes them throw or give anything but a whole number', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.eEimnsuµhKMG+-% ') }), (text) => {
        const duration = parseDurationMs(text);
        expect(duration === undefined || Number.isSafeInteger(duration)).toBe(true);
        const quantity = parseQuantity(text);
        expect(quantity === undefined || quantity >= 0n).toBe(true);
      }),
    );
  });
});
