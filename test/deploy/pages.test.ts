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
