import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJson } from '../../../packages/text/read-json.ts';

/** Names that V8 reads as one another, and others. */
const name = fc.oneof(
  fc.constantFrom(
    '\n',
    '\\',
    '"',
    '\u0000',
    '',
    'a',
    'a"b',
    'a\\"',
    '\\u',
    'Ab',
    '__proto__',
    '7',
    'n0',
    '":',
    '\u2028',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const value = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\\', '"', '\\":', '","a\\":', null, true, 0, -1.5, 1e300),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
})).value;

describe('JSON of others', () => {
  // Written name, and one that is as the beginning of what is written. V8 goes by the member before, so that each has one of its own.
  test.each([
    ['"\\n"', '"\\\\"'],
    ['"\\""', '"\\\\"'],
    ['"\\u0000"', '"\\\\"'],
    ['"a\\"b"', '"a\\\\\\""'],
    ['"\\u0041b"', '"\\\\u"'],
  ])('the name %s is itself, also where %s was read before', (name, before) => {
    readJson(`{"member before ${name.slice(1)}:[],${before}:0}`);
    expect(readJson(`{"member before ${name.slice(1)}:1,${name}:2}`)).toEqual({
      [`member before ${JSON.parse(name)}`]: 1,
      [JSON.parse(name)]: 2,
    });
  });

  test('what was written is read again, in its order', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1), (written, indent) => {
        const text = JSON.stringify(written, null, indent);
        expect(JSON.stringify(readJson(text), null, indent)).toBe(text);
      }),
    );
  });

  test('of a member that stands twice the last counts, also where one of both is escaped', () => {
    expect(readJson('{"a":1,"\\u0061":2,"b":3}')).toEqual({ a: 2, b: 3 });
    expect(readJson('{"\\u0037":1,"7":2}')).toEqual({ 7: 2 });
  });

  test('a member called __proto__ is a member', () => {
    const read = readJson('{"__proto__":{"x":1},"\\n":2}');
    expect(JSON.stringify(read)).toBe('{"__proto__":{"x":1},"\\n":2}');
  });

  test('texts of many megabytes are read', () => {
    for (const unit of ['a', '\n', '"']) {
      const written = { '\n': unit.repeat(12_000_000) };
      expect(readJson(JSON.stringify(written)), unit).toEqual(written);
    }
  });

  test('what is not JSON is refused', () => {
    for (const text of [
      '{"\\n":}',
      '{"\\q":1}',
      '["\\n":1]',
      '{"\\n" 1}',
      '{"a\nb":1,"\\n":2}',
      '{"\\n":1,}',
      '{"\\n":"x}',
    ])
      expect(() => readJson(text), text).toThrow(SyntaxError);
  });
});

/** What a process wrote for itself, and what runs in a browser. */
const OWN = [
  'cli/framework/run-verb.ts',
  'packages/files/fixed-file.ts',
  'packages/pipeline/dead-letters/crash-marks.ts',
  'packages/process/logger.ts',
  'services/dashboard/page/asking.ts',
];

test('JSON of others is read in no other way', () => {
  const files = ['cli', 'packages', 'services'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => join(folder, file)),
  );
  const parsing = files.filter((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .some((line) => line.includes('JSON.parse(') && !/^\s*(\*|\/\/|\/\*\*)/.test(line)),
  );
  expect(parsing.toSorted()).toEqual([...OWN, 'packages/text/read-json.ts'].toSorted());
});
