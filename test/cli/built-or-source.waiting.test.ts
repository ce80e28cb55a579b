import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../support/program.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const BUILT_AT = new Date('2026-01-02T00:00:00Z');
/** Folders whose files the program is made of. */
const SOURCES = ['cli', 'packages', 'schemas', 'services', 'lab'];
const BEFORE = new Date('2026-01-01T00:00:00Z');
const AFTER = new Date('2026-01-03T00:00:00Z');

/** An installation whose built program and sources say which of them they are; resolves to what its command says. */
async function said({ files, changedAt }: { files: readonly string[]; changedAt: Date }): Promise<string> {
  const directory = temporaryDirectory();
  const put = (file: string, at: Date, text = `console.log('${file}')`): void => {
    writeFileSync(join(directory, file), text);
    utimesSync(join(directory, file), at, at);
  };
  for (const folder of ['bin', 'dist', 'schemas/events', ...SOURCES])
    mkdirSync(join(directory, folder), { recursive: true });
  copyFileSync(PROGRAM, join(directory, 'bin/fleetgc'));
  if (files.includes('dist/cli.mjs')) put('dist/cli.mjs', BUILT_AT);
  if (files.includes('cli/main.ts')) put('cli/main.ts', BEFORE);
  put('schemas/events/topics.ts', changedAt, '');
  for (const folder of ['schemas/events', ...SOURCES]) utimesSync(join(directory, folder), BEFORE, BEFORE);
  return (await run(join(directory, 'bin/fleetgc'), { env: PROGRAM_ENVIRONMENT })).stdout.trim();
}

test.each([
  {
    name: 'what was built',
    files: ['dist/cli.mjs', 'cli/main.ts'],
    changedAt: BEFORE,
    runs: 'dist/cli.mjs',
  },
  {
    name: 'its sources, one of which is newer',
    files: ['dist/cli.mjs', 'cli/main.ts'],
    changedAt: AFTER,
    runs: 'cli/main.ts',
  },
  {
    name: 'its sources, where nothing was built',
    files: ['cli/main.ts'],
    changedAt: BEFORE,
    runs: 'cli/main.ts',
  },
])('the command runs $name', async ({ files, changedAt, runs }) => {
  expect(await said({ files, changedAt })).toBe(runs);
});
