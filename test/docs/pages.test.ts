import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../deploy/files.ts';
import { anchorsOf, type LocalLink, localLinks, tableRows } from './markdown.ts';

const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: REPOSITORY });

test.each(pages)('%s links to what exists', (path) => {
  const missing = localLinks(textOf(path)).filter((link) => !existsSync(fileOf(path, link)));
  expect(missing).toEqual([]);
});

test.each(pages)('%s links to headings that exist', (path) => {
  const missing = localLinks(textOf(path)).filter(
    (link) => link.anchor !== '' && !anchorsOf(readFileSync(fileOf(path, link), 'utf8')).has(link.anchor),
  );
  expect(missing).toEqual([]);
});

const fileOf = (page: string, { path }: LocalLink): string =>
  path === '' ? join(REPOSITORY, page) : join(REPOSITORY, dirname(page), path);

test('the page of where to change what names files that exist', () => {
  const page = textOf('docs/how-it-works/changing-the-code.md');
  const named = [
    ...page.matchAll(/`((?:services|packages|cli|schemas|lab|test|deploy|bin|docs)\/[^`<*]*)`/g),
  ];
  expect(named.length).toBeGreaterThan(50);
  expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual(
    [],
  );
});

test('the glossary has at most 40 terms', () => {
  expect(tableRows(textOf('docs/reference/glossary.md'), 'term').length).toBeLessThanOrEqual(40);
});

const MAX_COLUMNS = 100;
const MAX_CELL_COLUMNS = 130;

const cellsOf = (line: string): readonly string[] => line.split(/(?<!\\)\|/).map((cell) => cell.trim());

test.each(pages)('%s has tables whose cells fit', (path) => {
  const rows = textOf(path)
    .split('\n')
    .filter((line) => line.startsWith('|'));
  expect(rows.flatMap(cellsOf).filter((cell) => withoutTargets(cell).length > MAX_CELL_COLUMNS)).toEqual([]);
});

/** As it is read: a link is its text. */
const withoutTargets = (cell: string): string => cell.replace(/\]\([^)]*\)/g, ']');

/** Tables, headings, lines with a link, and what is one word of code cannot be wrapped. */
const isFree = (line: string): boolean => /^ *\||^#|\]\([^)]+\)|^ *(?:[-*] |\d+\. )?`[^`]*`\S*$/.test(line);

test.each(pages)('%s has prose of at most 100 columns', (path) => {
  const prose = textOf(path).replace(/^ *```[\s\S]*?^ *```$/gm, '');
  expect(prose.split('\n').filter((line) => line.length > MAX_COLUMNS && !isFree(line))).toEqual([]);
});
