import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../deploy/files.ts';

const page = textOf('docs/reference/cluster-rules.md');

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

const told = [...page.matchAll(/^\| ([A-NS]\d[^|]*?) \|/gm)].flatMap(([, cell = '']) => numbersIn(cell));

const citedIn = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: REPOSITORY })
    .map(textOf)
    .flatMap((text) =>
      [...text.matchAll(/[([]cluster ((?:[A-NS]\d+)(?:(?:, | to )[A-NS]\d+)*)[\])]/g)].flatMap(
        ([, list = '']) => numbersIn(list),
      ),
    );

/** Rules as decisions name them. */
const decided = globSync('services/{graph-gc,pod-gc},expiry-gc}/**/*.ts', { cwd: REPOSITORY })
  .map(textOf)
  .flatMap((text) => [...text.matchAll(/'([A-NS]\d{1,2})'/g)].map(([, rule = '']) => rule));

test('every rule of the control plane that the code or a test cites has its row', () => {
  const cited = [...citedIn('{cli,packages,schemas,services,sim,test}/**/*.ts'), ...decided];
  expect(cited.length).toBeGreaterThan(0);
  expect([...new Set(cited)].filter((number) => !told.includes(number))).toEqual([]);
});

test('every rule of that page is cited by a test, and has one row', () => {
  const tested = new Set(citedIn('test/**/*.ts'));
  expect(told.filter((number) => !tested.has(number))).toEqual([]);
  expect(told.filter((number, index) => told.indexOf(number) !== index)).toEqual([]);
});
