import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonBeginning } from '../../../../packages/records/parse/parse-head.ts';
import { runs } from '../../../support/property-runs.ts';

const NAMES = ['a', 'b'];

test.each<{ name: string; text: string; found: unknown }>([
  { name: 'both at once', text: '{"a":1,"b":2,"c":3}', found: { a: 1, b: 2 } },
  {
    name: 'as many others as lie before',
    text: '{"x":[],"b":2,"y":{},"a":1,"c":3}',
    found: { x: [], b: 2, y: {}, a: 1 },
  },
  { name: 'the whole object', text: '{"a":1,"b":2}', found: { a: 1, b: 2 } },
  { name: 'white space anywhere', text: ' {\n "a" : 1 ,\t"b" : [ 2 , 3 ] ,', found: { a: 1, b: [2, 3] } },
  {
    name: 'brackets, quotes and escapes within text',
    text: String.raw`{"x":"}],\"{[\\","a":{"b":["\u007d"]},"b":"\\"}`,
    found: { x: '}],"{[\\', a: { b: ['}'] }, b: '\\' },
  },
  { name: 'of one name the last', text: '{"a":1,"a":2,"b":3}', found: { a: 2, b: 3 } },
  { name: 'with nothing but garbage behind it', text: '{"a":1,"b":2,garbage', found: { a: 1, b: 2 } },
  {
    name: 'cut off in the value behind it',
    text: '{"a":1,"b":{"c":2},"d":"cut o',
    found: { a: 1, b: { c: 2 } },
  },
])('$name', ({ text, found }) => {
  expect(jsonBeginning(text, NAMES)).toEqual(found);
});

test.each([
  ['one is missing', '{"a":1,"c":2}'],
  ['one is there only further in', '{"a":{"b":1}}'],
  ['its name is written otherwise', String.raw`{"a":1,"\u0062":2}`],
  ['the value of the last is cut off', '{"a":1,"b":{"c":2'],
  ['the text of the last is cut off', '{"a":1,"b":"two'],
  ['a bracket closes another one', '{"a":[1},"b":2}'],
  ['a bracket closes nothing', '{"a":},"b":2}'],
  ['a value is none', '{"a":one,"b":2}'],
  ['a comma is missing', '{"a":1 "b":2}'],
  ['a colon is missing', '{"a" 1,"b":2}'],
  ['a name has no quotes', '{a:1,"b":2}'],
  ['it is a list', '["a","b"]'],
  ['it is a text', '"a"'],
  ['it is empty', ''],
  ['something stands before it', 'x{"a":1,"b":2}'],
])('nothing where %s', (_name, text) => {
  expect(jsonBeginning(text, NAMES)).toBeUndefined();
});

describe('of any object', () => {
  test('what it finds is what a parser of the whole finds, in whatever order', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('c', 'd', 'e'), fc.jsonValue()),
        fc.jsonValue(),
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom('f', 'g'), fc.jsonValue()),
        (before, a, b, behind) => {
          const text = JSON.stringify({ ...before, a, b, ...behind });
          expect(jsonBeginning(text, NAMES)).toEqual(JSON.parse(JSON.stringify({ ...before, a, b })));
        },
      ),
      runs(200),
    );
  });
});
