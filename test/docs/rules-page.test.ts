import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../deploy/files.ts';
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

/** Numbers of a cell: `D1, D2` and `C13 to C15`. */
function numbersIn(cell: string): readonly string[] {
  return cell.split(', ').flatMap((part) => {
    const [, letter = '', first = '', last = first] = /^([A-P])(\d+)(?: to [A-P](\d+))?$/.exec(part) ?? [];
    return Array.from(
      { length: Number(last) - Number(first) + 1 },
      (_, index) => `${letter}${Number(first) + index}`,
    );
  });
}

const told = new Set(
  [...textOf('docs/reference/rules.md').matchAll(/^\| ([A-P]\d[^|]*?) \|/gm)].flatMap(([, cell = '']) =>
    numbersIn(cell),
  ),
);
/** Rules of the control plane have numbers and a page of their own. */
const withoutClusterRules = (text: string): string => text.replace(/\bcluster [A-S]\d[^)\]]*/g, '');
/** Their rules have numbers as values, not in brackets alone. */
const CLUSTER_SERVICES = [
  'packages/deciders/{graph-gc,pod-gc,expiry-gc}/**',
  'packages/deciders/rule-words.ts',
  'services/cluster/**',
  'packages/read-model/{approve,censuses,cluster-report,held-objects,holds,read-holds}.ts',
];
const textsOf = (pattern: string, exclude: readonly string[] = []): readonly string[] =>
  globSync(pattern, { cwd: REPOSITORY, exclude: [...exclude] }).map(textOf);

test('every number that the code cites has its row', () => {
  const cited = textsOf('{cli,packages,schemas,services,lab/demo,lab/sim}/**/*.ts', CLUSTER_SERVICES).flatMap(
    (text) => [...withoutClusterRules(text).matchAll(/\b[A-P]\d{1,2}\b/g)].map(([number]) => number),
  );
  expect([...new Set(cited)].filter((number) => !told.has(number))).toEqual([]);
});

test('every number that a test cites in its title has its row', () => {
  const cited = textsOf('{test,lab/!(demo|sim)}/**/*.ts').flatMap((text) =>
    [...withoutClusterRules(text).matchAll(/\[([A-P]\d{1,2}(?:(?:, | to )[A-P]\d{1,2})*)\]/g)].flatMap(
      ([, list = '']) => numbersIn(list),
    ),
  );
  expect(cited.length).toBeGreaterThan(0);
  expect([...new Set(cited)].filter((number) => !told.has(number))).toEqual([]);
});
