import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, inKeyOrder } from '../../../packages/canonical/ids.ts';
import { runs } from '../../support/property-runs.ts';

/** As `unit: 'binary'` gives it, without the table of a million characters that is made for it. */
const anyText = fc
  .array(
    fc.nat(0x10ffff).filter((point) => point < 0xd800 || point > 0xdfff),
    { maxLength: 10 },
  )
  .map((points) => String.fromCodePoint(...points));
const key = fc.oneof(
  fc.string(),
  anyText,
  fc.constantFrom('1', '10', '9', '01', '-1', '4294967295', '__proto__', 'toString', 'é', 'Z', 'a', 'a1', ''),
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    anyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(null, true, false, -0, 1e21, 1e-7, undefined),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

test('any value is written as the library for RFC 8785 writes it', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      fc.pre(value !== undefined);
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }),
    runs(500),
  );
});

test('a value is left as it was, and parts that are in order are not copied', () => {
  const inOrder = { a: 1, b: [{ c: 2 }] };
  const value = { z: inOrder, y: [inOrder, { b: 1, a: 2 }], x: Object.freeze({ q: 1, p: 2 }) };
  const before = JSON.stringify(value);
  const ordered = inKeyOrder(value);
  expect(JSON.stringify(value)).toBe(before);
  expect(ordered).toMatchObject({ z: expect.toSatisfy((part) => part === inOrder) });
  expect(inKeyOrder(ordered)).toBe(ordered);
});

test.each([
  ['members with numbers for names', { 10: 'ten', 9: 'nine', a: 1 }, '{"10":"ten","9":"nine","a":1}'],
  ['a member of the name __proto__', JSON.parse('{"b":1,"__proto__":2}'), '{"__proto__":2,"b":1}'],
  ['what is not there', { b: undefined, a: [undefined] }, '{"a":[null]}'],
  ['a backslash before ud', { b: 1, a: '\\ud800' }, '{"a":"\\\\ud800","b":1}'],
])('%s', (_name, value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test.each([
  ['a number that is none', { a: Number.NaN }],
  ['no end', [Number.POSITIVE_INFINITY]],
  ['half a character', { b: '\ud800', a: 1 }],
  ['half a character in a name', { '\ud800': 1 }],
  ['nothing', undefined],
  ['a whole number beyond JSON', { a: 1n }],
])('%s has no canonical form', (_name, value) => {
  expect(() => canonicalJson(value)).toThrow();
});
