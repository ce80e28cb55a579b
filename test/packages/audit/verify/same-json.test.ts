import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstDifference, sameJson } from '../../../../packages/audit/verify/findings.ts';
import { canonicalJson } from '../../../../packages/canonical/ids.ts';
import { runs } from '../../../support/property-runs.ts';

/** Small, so that two of them are equal now and then. */
const { value: someValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('', '1', 0, -0, 1, null, true),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'toString', '1'), tie('value'), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
  ),
}));

test('values are the same where their canonical JSON is', () => {
  fc.assert(
    fc.property(someValue, someValue, (a, b) => {
      expect(sameJson(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
      expect(sameJson(a, JSON.parse(canonicalJson(a)))).toBe(true);
    }),
    runs(1_000),
  );
});

test.each<[string, unknown, unknown, boolean]>([
  ['the order of members', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }, true],
  ['a member that is none', { a: 1, b: undefined }, { a: 1 }, true],
  ['zero and minus zero', [0], [-0], true],
  ['one member more', { a: 1, b: 2 }, { a: 1 }, false],
  ['one member less', { a: 1 }, { a: 1, b: 2 }, false],
  ['another order of a list', [1, 2], [2, 1], false],
  ['a list and an object', [], {}, false],
  ['an object and nothing', {}, null, false],
  ['a number and its text', 1, '1', false],
  [
    'a member that every object inherits, for one that is there',
    JSON.parse('{"__proto__":{}}'),
    { b: 1 },
    false,
  ],
  ['a method that every object inherits', JSON.parse('{"toString":{}}'), { valueOf: {} }, false],
])('%s', (_name, a, b, isSame) => {
  expect(sameJson(a, b)).toBe(isSame);
  expect(sameJson(b, a)).toBe(isSame);
});

test('the first difference is told by its way', () => {
  const found = { verdicts: [{ rule: 'D8', facts: {} }], a: 1 };
  const expected = { a: 1, verdicts: [{ facts: undefined, rule: 'D8' }] };
  expect(firstDifference(found, expected)).toBe('verdicts.0.facts is {} and not nothing');
});

test('of long values the beginning is told', () => {
  const text = (length: number) => 'x'.repeat(length - 2);
  expect(firstDifference(text(60), 1)).toBe(`it is "${text(60)}" and not 1`);
  expect(firstDifference(text(61), 1)).toBe(`it is "${text(61)}… and not 1`);
});

test('a list and an object, and nothing and an object, differ as a whole', () => {
  expect(firstDifference([1], { 0: 2 })).toBe('it is [1] and not {"0":2}');
  expect(firstDifference({ a: { 0: 2 } }, { a: [1] })).toBe('a is {"0":2} and not [1]');
  expect(firstDifference({ a: null }, { a: { b: 1 } })).toBe('a is null and not {"b":1}');
});
