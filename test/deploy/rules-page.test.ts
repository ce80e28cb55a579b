import { expect, test } from 'vitest';
import { textOf } from './files.ts';
import { tableRows } from './markdown.ts';

/** The list of wishes behind section M has so many rows. */
const WISHES = 41;

const section = textOf('docs/reference/rules.md').split('## M. ')[1] ?? '';
const rows = tableRows(section, 'rule');

test('every wish of section M stands in its list once, in order', () => {
  const numbers = rows.flatMap(([rule = '']) => rule.split(', '));
  expect(numbers).toEqual(Array.from({ length: WISHES }, (_, index) => `M${index + 1}`));
});

test('every wish says whether it is built, and how or why not', () => {
  const stands = /^(default|option|default and options|default, in part|not built)$/;
  expect(rows.filter(([, built = '', text = '']) => !stands.test(built) || text === '')).toEqual([]);
});
