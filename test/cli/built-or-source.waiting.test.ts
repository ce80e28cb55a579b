import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../support/program.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const BUILT_AT = new Date('2026-01-02T00:00:00Z');
const BEFORE = new Date('2026-01-01T00:00:00Z');
const AFTER = new Date('2026-01-03T00:00:00Z');

/** An installation whose built program and sources say which of them they are; resolves to what its command says. */
async function said({ files, changedAt }: { files: readonly string[]; changedAt: Date }): Promise<string> {
  const directory = temporaryDirectory();
  const put = (file: string, at: Date, text = `console.log('${file}')`): void => {
    writeFileSync(join(directory, file), text);
    utimesSync(join(directory, file), at, at);
  };
  for (const folder of ['bin', 'dist', 'schemas', 'services']) mkdirSync(join(directory, folder));
  copyFileSync(PROGRAM, join(directory, 'bin/fleetgc'));
  if (files.includes('dist/cli.mjs')) put('dist/cli.mjs', BUILT_AT);
  if (files.includes('services/cli.ts')) put('services/cli.ts', BEFORE);
  put('schemas/topics.ts', changedAt, '');
  for (const folder of ['schemas', 'services']) utimesSync(join(directory, folder), BEFORE, BEFORE);
  return (await run(join(directory, 'bin/fleetgc'), { env: PROGRAM_ENVIRONMENT })).stdout.trim();
}

test.each([
  {
    name: 'what was built',
    files: ['dist/cli.mjs', 'services/cli.ts'],
    changedAt: BEFORE,
    runs: 'dist/cli.mjs',
  },
  {
    name: 'its sources, one of which is newer',
    files: ['dist/cli.mjs', 'services/cli.ts'],
    changedAt: AFTER,
    runs: 'services/cli.ts',
  },
  {
    name: 'its sources, where nothing was built',
    files: ['services/cli.ts'],
    changedAt: BEFORE,
    runs: 'services/cli.ts',
  },
])('the command runs $name', async ({ files, changedAt, runs }) => {
  expect(await said({ files, changedAt })).toBe(runs);
});
