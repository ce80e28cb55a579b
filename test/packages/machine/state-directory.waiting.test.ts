import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openStateDirectory } from '../../../packages/machine/state-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const run = promisify(execFile);

test('the node instance is the same for processes that start together', async () => {
  const directory = temporaryDirectory();
  const starts = Array.from({ length: 4 }, () =>
    run(process.execPath, ['--input-type=module', '--eval', OPENER], {
      env: { ...process.env, DIRECTORY: directory },
    }),
  );
  const instances = (await Promise.all(starts)).map(({ stdout }) => stdout);
  expect(new Set(instances)).toEqual(new Set([openStateDirectory(directory, 'machine-a').nodeInstance]));
  expect(readdirSync(directory)).toHaveLength(1);
});

test('a second process never reads a mixture while the first is writing', async () => {
  const directory = temporaryDirectory();
  const Values = z.array(z.int());
  openStateDirectory(directory, 'machine-a').open('values', 20_000, Values).write([0]);
  const reader = openStateDirectory(directory, 'machine-a').openReadOnly('values', Values);
  const writer = spawn(process.execPath, ['--input-type=module', '--eval', WRITER], {
    env: { ...process.env, DIRECTORY: directory },
    stdio: 'inherit',
  });
  const ended = once(writer, 'exit');
  while (writer.exitCode === null) {
    expect(new Set(reader.read()).size).toBe(1);
    await setImmediate();
  }
  expect(await ended).toEqual([0, null]);
  expect(reader.read()?.at(-1)).toBe(200);
});

const MODULE = JSON.stringify(new URL('../../../packages/machine/state-directory.ts', import.meta.url).href);
const OPENER = `
  const { openStateDirectory } = await import(${MODULE});
  process.stdout.write(openStateDirectory(process.env.DIRECTORY, 'machine-a').nodeInstance);
`;
const WRITER = `
  const { openStateDirectory } = await import(${MODULE});
  const { z } = await import('zod');
  const file = openStateDirectory(process.env.DIRECTORY, 'machine-a').open('values', 20_000, z.array(z.int()));
  for (let n = 1; n <= 200; n++) file.write(Array.from({ length: 1000 + n }, () => n));
`;
