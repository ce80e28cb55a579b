import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { licenceProblems } from '../../../bin/supply-chain/licences.ts';
import { productionPackages } from '../../../bin/supply-chain/lockfile.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

interface Entry {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** A repository with this lockfile; what is installed of it says this of its licence. */
function repository(
  packages: Readonly<Record<string, Entry>>,
  installed: Readonly<Record<string, unknown>>,
): string {
  const directory = temporaryDirectory();
  const lockfile = { lockfileVersion: 3, packages: { '': { name: 'fleetgc' }, ...packages } };
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify(lockfile));
  for (const [path, license] of Object.entries(installed)) {
    mkdirSync(join(directory, path), { recursive: true });
    writeFileSync(join(directory, path, 'package.json'), JSON.stringify({ version: '1.0.0', license }));
  }
  return directory;
}

const problemsOf = (directory: string): readonly string[] =>
  licenceProblems(directory, productionPackages(directory)).map((problem) =>
    problem.replace(/, which.*/, ''),
  );

test('all that is shipped is under a licence that allows it', () => {
  expect(productionPackages(REPOSITORY).length).toBeGreaterThan(20);
  expect(problemsOf(REPOSITORY)).toEqual([]);
});

test.each([
  { licence: 'MIT', problems: [] },
  { licence: 'BSD-3-Clause', problems: [] },
  { licence: 'GPL-3.0-only', problems: ['a 1.0.0 is under "GPL-3.0-only"'] },
  { licence: '(MIT OR GPL-3.0-only)', problems: ['a 1.0.0 is under "(MIT OR GPL-3.0-only)"'] },
  { licence: 'UNLICENSED', problems: ['a 1.0.0 is under "UNLICENSED"'] },
  { licence: { type: 'MIT' }, problems: ['a 1.0.0 is under {"type":"MIT"}'] },
  { licence: undefined, problems: ['a 1.0.0 names no licence'] },
])('a package under $licence: $problems', ({ licence, problems }) => {
  const directory = repository(
    { 'node_modules/a': { version: '1.0.0', license: 'MIT' } },
    { 'node_modules/a': licence },
  );
  expect(problemsOf(directory)).toEqual(problems);
});

test('a package within a package counts, and so does one that is optional; one for development does not', () => {
  const entry = { version: '1.0.0' };
  const directory = repository(
    {
      'node_modules/a/node_modules/@b/c': entry,
      'node_modules/d': { ...entry, optional: true },
      'node_modules/e': { ...entry, dev: true },
    },
    {
      'node_modules/a/node_modules/@b/c': 'GPL-2.0',
      'node_modules/d': 'GPL-2.0',
      'node_modules/e': 'GPL-2.0',
    },
  );
  expect(problemsOf(directory)).toEqual(['@b/c 1.0.0 is under "GPL-2.0"', 'd 1.0.0 is under "GPL-2.0"']);
});

test('of what is for another platform the lockfile says it; what is missing otherwise is an error', () => {
  const other = { version: '1.0.0', license: 'GPL-2.0', optional: true };
  expect(problemsOf(repository({ 'node_modules/a': other }, {}))).toEqual(['a 1.0.0 is under "GPL-2.0"']);
  const needed = repository({ 'node_modules/a': { version: '1.0.0', license: 'MIT' } }, {});
  expect(() => problemsOf(needed)).toThrow(/ENOENT/);
});
