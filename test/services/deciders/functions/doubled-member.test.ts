import { expect, test } from 'vitest';
import { doubledMemberAt } from '../../../../services/deciders/functions/http/read-events.ts';

test.each([
  ['{"a":1,"b":1,"a":1}', 1, 'a'],
  ['{"a":1,"b":{"a":1}}', 1, null],
  ['{"a":1,"\\u0061":1}', 1, 'a'],
  ['[{"a":1},{"a":1,"a":2}]', 2, 'a'],
])('of %s at depth %i it is %s', (text, depth, name) => {
  expect(doubledMemberAt(text, depth, 10)).toBe(name);
});

test('in an object with more names than anybody reads none is looked for, and in the next one again', () => {
  expect(doubledMemberAt('[{"a":1,"b":1,"c":1,"a":1}]', 2, 2)).toBeNull();
  expect(doubledMemberAt('[{"a":1,"b":1,"c":1,"a":1},{"d":1,"d":2}]', 2, 2)).toBe('d');
});
