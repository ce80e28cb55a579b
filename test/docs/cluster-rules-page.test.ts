import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../deploy/files.ts';

const page = textOf('docs/reference/cluster-rules.md');
const WITHOUT_ROW = '## What has no row of its own';

/** The highest number of each section that restates Kubernetes. */
const RULES_OF_KUBERNETES = {
  A: 14,
  B: 13,
  C: 17,
  D: 20,
  E: 5,
  F: 12,
  G: 12,
  H: 5,
  I: 11,
  J: 13,
  K: 8,
  L: 10,
  M: 14,
} as const;

/** Numbers of a list: `D1, D2` and `C13 to C15`. */
const numbersIn = (list: string): readonly string[] =>
  list.split(', ').flatMap((part) => {
    const [, letter = '', first = '', last = first] =
      /^([A-NS])(\d+)(?: to [A-NS](\d+))?$/.exec(part.trim()) ?? [];
    return Array.from(
      { length: Number(last) - Number(first) + 1 },
      (_, index) => `${letter}${Number(first) + index}`,
    );
  });

const numbersOf = (text: string): readonly string[] =>
  [...text.matchAll(/^\| ([A-NS]\d[^|]*?) \|/gm)].flatMap(([, cell = '']) => numbersIn(cell));

const [before = '', after = ''] = page.split(WITHOUT_ROW);
const end = after.indexOf('\n## ');
const withoutRow = numbersOf(after.slice(0, end));
const told = [...numbersOf(before), ...numbersOf(after.slice(end))];

const citedIn = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: REPOSITORY })
    .map(textOf)
    .flatMap((text) =>
      [...text.matchAll(/[([]cluster ((?:[A-NS]\d+)(?:(?:, | to )[A-NS]\d+)*)[\])]/g)].flatMap(
        ([, list = '']) => numbersIn(list),
      ),
    );

/** Rules as decisions name them. */
const decided = globSync('packages/deciders/{graph-gc,pod-gc,expiry-gc}/**/*.ts', { cwd: REPOSITORY })
  .map(textOf)
  .flatMap((text) => [...text.matchAll(/'([A-NS]\d{1,2})'/g)].map(([, rule = '']) => rule));

test('every rule of the control plane that the code or a test cites has its row', () => {
  const cited = [...citedIn('{cli,packages,schemas,services,lab,test}/**/*.ts'), ...decided];
  expect([cited.length > 0, decided.length > 0]).toEqual([true, true]);
  expect([...new Set(cited)].filter((number) => !told.includes(number))).toEqual([]);
});

test('every rule of that page is cited by a test, and has one row', () => {
  const tested = new Set(citedIn('{test,lab/!(demo|sim)}/**/*.ts'));
  expect(told.filter((number) => !tested.has(number))).toEqual([]);
  expect(told.filter((number, index) => told.indexOf(number) !== index)).toEqual([]);
});

test('every rule of Kubernetes has its row, or is told to have none', () => {
  const all = Object.entries(RULES_OF_KUBERNETES).flatMap(([letter, last]) =>
    Array.from({ length: last }, (_, index) => `${letter}${index + 1}`),
  );
  const ofKubernetes = (numbers: readonly string[]): readonly string[] =>
    numbers.filter((number) => !/^[NS]/.test(number));
  expect([...ofKubernetes(told), ...withoutRow].toSorted()).toEqual(all.toSorted());
});
