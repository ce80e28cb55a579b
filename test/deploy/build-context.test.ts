import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from './files.ts';

/** What the build context of the image has: everything else is left out. */
const sent = [...textOf('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path = '']) => path);
const copied = [...textOf('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
  paths.split(' '),
);

test('the build context of the image has what the Dockerfile copies, and nothing that does not exist', () => {
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !sent.includes(path) && !sent.includes(path.split('/')[0] ?? ''))).toEqual(
    [],
  );
  expect(sent.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
});
