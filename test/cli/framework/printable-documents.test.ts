import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatResult } from '../../../cli/framework/output.ts';

/** What somebody can call a Role, or an owner in a reference. */
const HOSTILE = {
  name: 'a\u001b[2J\r\u009b1A\u202eb\u2028c\u00ad',
  'key \u009b1A': ['no', 'a\tb', 'two\nlines\u009b1A\n'],
};
const REWRITES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test.each([
  ['json', JSON.parse],
  ['yaml', (text: string): unknown => parse(text)],
] as const)('what is printed as %s rewrites nothing on a terminal, and means what it did', (format, read) => {
  const text = formatResult(format, { value: HOSTILE, lines: [] });
  expect(text).not.toMatch(REWRITES);
  expect(read(text)).toEqual(HOSTILE);
});
