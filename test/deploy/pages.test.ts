import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from './files.ts';
import { anchorsOf, type LocalLink, localLinks } from './markdown.ts';

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

const MAX_COLUMNS = 100;

/** Tables, headings, lines with a link, and what is one word of code cannot be wrapped. */
const isFree = (line: string): boolean => /^ *\||^#|\]\([^)]+\)|^ *(?:[-*] |\d+\. )?`[^`]*`\S*$/.test(line);

test.each(pages)('%s has prose of at most 100 columns', (path) => {
  const prose = textOf(path).replace(/^ *```[\s\S]*?^ *```$/gm, '');
  expect(prose.split('\n').filter((line) => line.length > MAX_COLUMNS && !isFree(line))).toEqual([]);
});
