import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LIMITS_PAGE, limitsIn, limitsOfSources, limitsPage } from '../../bin/limits.ts';
import { REPOSITORY, textOf } from '../deploy/files.ts';

const limits = limitsOfSources();
const sources = globSync('{cli,packages,schemas,services}/**/*.ts', { cwd: REPOSITORY }).map((path) =>
  textOf(path),
);

test('the page is what npm run limits writes', () => {
  expect(textOf(LIMITS_PAGE)).toBe(limitsPage(limits));
});

test('every tag has a row', () => {
  const tags = sources.flatMap((text) => text.match(/^(?:\/\*\*| \*) @limit /gm) ?? []);
  expect(limits.length).toBe(tags.length);
  expect(limits.length).toBeGreaterThan(150);
});

test('the constants that a row names exist', () => {
  const named = limits.flatMap(({ text }) => text.match(/\b[A-Z]+_[A-Z0-9_]+\b/g) ?? []);
  const words = new Set(sources.flatMap((text) => text.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []));
  expect(named.filter((name) => !words.has(name))).toEqual([]);
});

test.each([
  ['const A_MS = 90_000;', '90 s'],
  ['const A_MS = 2 * 60_000;', '2 min'],
  ['export const A_BYTES = 48 * 1024;', '48 KiB'],
  ['const EACH = 3;\n/** @limit x */\nconst A = 2 * EACH;', '6'],
  ['const A = { rows: 1_000, rawBytes: 16 * 1024 * 1024 };', 'rows 1,000, rawBytes 16 MiB'],
  ["const A = '512MiB';", "`'512MiB'`"],
])('the value of %s', (source, value) => {
  const tagged = source.includes('@limit') ? source : `/**\n * Why.\n * @limit x\n */\n${source}`;
  expect(limitsIn('a.ts', tagged)).toEqual([{ file: 'a.ts', name: expect.any(String), value, text: 'x' }]);
});
