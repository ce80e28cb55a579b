import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectories } from '../../../packages/files/make-directories.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('makes every level that is missing, for its user alone whatever the umask, and is safe twice', () => {
  const path = join(temporaryDirectory(), 'a', 'b', 'c');

  expect([makeDirectories(path), makeDirectories(path)]).toEqual([null, null]);
  for (const level of [path, join(path, '..'), join(path, '../..')])
    expect(statSync(level).mode & 0o777).toBe(0o700);
});

test('a directory that is there stays as it is, however it is written', () => {
  expect(makeDirectories(`${temporaryDirectory()}/./x/../`)).toBeNull();
});

test.each(['/proc/fleetgc', '/proc/fleetgc/deep/below'])('below /proc it ends and says so: %s', (path) => {
  expect(makeDirectories(path)).toBe('/proc takes no new directories');
});

test('a file in the way is named', () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');

  expect(makeDirectories(file)).toBe(`${file} is no directory`);
  expect(makeDirectories(join(file, 'below'))).toBe(`${file} is no directory`);
});
