import { z } from 'zod';

/** An exact ratio; the denominator is positive. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const MAX_INT64 = 2n ** 63n - 1n;
/** Longer input is no quantity that anybody means; the bound also keeps a hostile exponent from filling memory. */
const MAX_QUANTITY_LENGTH = 64;
const MAX_EXPONENT = 18;

const NS_PER_MS = 1_000_000n;
const DURATION_UNITS_NS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: NS_PER_MS,
  s: 1_000n * NS_PER_MS,
  m: 60_000n * NS_PER_MS,
  h: 3_600_000n * NS_PER_MS,
};

const DURATION = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
/** The same for who reads regular expressions of RE2; `0` needs no unit. */
export const DURATION_PATTERN = `^(0|${DURATION.source.slice(1, -1)})$`;
const DURATION_TERM = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/**
 * Milliseconds of a duration in Go's form, such as `1m30s`, `1.5h`, `-1s` or `0`. A part of a millisecond, which a kubelet
 * takes too, counts as a whole one, so that what is not zero never becomes it. `undefined` when it is malformed, or beyond what
 * Go holds (292 years).
 */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  const [, sign, terms = ''] = (text.length <= MAX_QUANTITY_LENGTH && DURATION.exec(text)) || [];
  if (sign === undefined) return undefined;
  const ns = [...terms.matchAll(DURATION_TERM)]
    .map(([, number = '', unit = '']) => multiply(parseDecimal(number), whole(DURATION_UNITS_NS[unit] ?? 0n)))
    .reduce(add);
  if (ns.numerator > MAX_INT64 * ns.denominator) return undefined;
  const perMs = ns.denominator * NS_PER_MS;
  const ms = Number((ns.numerator + perMs - 1n) / perMs);
  return sign === '-' && ms !== 0 ? -ms : ms;
}

const BINARY_SUFFIXES: Readonly<Record<string, bigint>> = {
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
  Ei: 2n ** 60n,
};
const DECIMAL_SUFFIX_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const QUANTITY = /^\+?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]?|[eE]([+-]?\d{1,2}))$/;
/** The same for who reads regular expressions of RE2. */
export const QUANTITY_PATTERN = QUANTITY.source;

/**
 * A quantity of zero or more in Kubernetes' form, such as `10Gi`, `1.5G`, `500m` or `1e9`, rounded up to a whole number
 * as Kubernetes does. `undefined` when it is malformed, negative, or beyond 64 bits.
 */
export function parseQuantity(text: string): bigint | undefined {
  const [, number, suffix = '', exponent] = (text.length <= MAX_QUANTITY_LENGTH && QUANTITY.exec(text)) || [];
  const factor = suffixFactor(suffix, exponent);
  if (number === undefined || factor === undefined) return undefined;
  const { numerator, denominator } = multiply(parseDecimal(number), factor);
  const roundedUp = (numerator + denominator - 1n) / denominator;
  return roundedUp <= MAX_INT64 ? roundedUp : undefined;
}

const PERCENT = /^(\d{1,3}|\d{1,3}\.\d{1,9})%$/;

/** A percentage from `0%` to `100%` as an exact ratio: `12.5%` is 125/1000. `undefined` when it is anything else. */
export function parsePercent(text: string): Fraction | undefined {
  const [, number] = PERCENT.exec(text) ?? [];
  if (number === undefined) return undefined;
  const { numerator, denominator } = parseDecimal(number);
  const ratio = { numerator, denominator: denominator * 100n };
  return ratio.numerator <= ratio.denominator ? ratio : undefined;
}

const NUMBER_OF_PERCENT = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)%+$/;

/**
 * The number before the percent sign as the kubelet reads it in eviction settings, whatever its size: `10%`, `.5%`,
 * `1e1%`. `undefined` when it is malformed.
 */
export function parsePercentNumber(text: string): number | undefined {
  const [, number] = (text.length <= MAX_QUANTITY_LENGTH && NUMBER_OF_PERCENT.exec(text)) || [];
  return number === undefined ? undefined : Number(number);
}

/** A duration in Go's form as milliseconds; may be negative. */
export const DurationMs = parsedText(
  parseDurationMs,
  (text) => daysProblem(text) ?? 'must be a duration with a unit, such as 300ms, 90s, 1m30s or 24h',
);

/** A number of bytes in Kubernetes' form. */
export const Bytes = parsedText(parseQuantity, () => 'must be a quantity such as 500Mi, 10Gi or 1.5G');

/** A percentage as an exact ratio. */
export const Percent = parsedText(parsePercent, () => 'must be a percentage from 0% to 100%');

const WHOLE_DAYS = /^(\d{1,4})d$/;

/** Go's form has no days, which other tools take. */
function daysProblem(text: string): string | null {
  const [, days] = WHOLE_DAYS.exec(text) ?? [];
  return days === undefined
    ? null
    : `must be written in hours, since there is no unit of days: ${Number(days) * 24}h`;
}

function parsedText<T>(parse: (text: string) => T | undefined, wrong: (text: string) => string) {
  return z.string().transform((text, context): T => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: wrong(text), input: text });
    return z.NEVER;
  });
}

/** The digits are known to be well formed: `12`, `12.`, `1.25` or `.5`. */
function parseDecimal(digits: string): Fraction {
  const [integer = '', fraction = ''] = digits.split('.');
  return { numerator: BigInt(`${integer}${fraction}`), denominator: 10n ** BigInt(fraction.length) };
}

function suffixFactor(suffix: string, exponent: string | undefined): Fraction | undefined {
  const binary = BINARY_SUFFIXES[suffix];
  if (binary !== undefined) return whole(binary);
  const power = exponent === undefined ? DECIMAL_SUFFIX_EXPONENTS[suffix] : Number(exponent);
  if (power === undefined || Math.abs(power) > MAX_EXPONENT) return undefined;
  const scale = 10n ** BigInt(Math.abs(power));
  return power < 0 ? { numerator: 1n, denominator: scale } : whole(scale);
}

const whole = (value: bigint): Fraction => ({ numerator: value, denominator: 1n });

const multiply = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
});

const add = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.denominator + b.numerator * a.denominator,
  denominator: a.denominator * b.denominator,
});
