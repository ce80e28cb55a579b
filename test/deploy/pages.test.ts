import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from './files.ts';
import { localLinks } from './markdown.ts';

const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: REPOSITORY });

test.each(pages)('%s links to what exists', (path) => {
  const missing = localLinks(textOf(path)).filter(
    (target) => !existsSync(join(REPOSITORY, dirname(path), target)),
  );
  expect(missing).toEqual([]);
});

const MAX_COLUMNS = 100;

/** Tables, headings, lines with a link, and what is one word of code cannot be wrapped. */
const isFree = (line: string): boolean => /^ *\||^#|\]\([^)]+\)|^ *(?:[-*] |\d+\. )?`[^`]*`\S*$/.test(line);

test.each(pages)('%s has prose of at most 100 columns', (path) => {
  const prose = textOf(path).replace(/^ *```[\s\S]*?^ *```$/gm, '');
  expect(prose.split('\n').filter((line) => line.length > MAX_COLUMNS && !isFree(line))).toEqual([]);
});
