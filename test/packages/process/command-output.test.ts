import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Command, commandOutput } from '../../../packages/process/command-output.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const LIMITS = { timeoutMs: 60_000, maxBytes: 1_000, signal: new AbortController().signal };

const shell = (script: string, over: Partial<typeof LIMITS> = {}) =>
  commandOutput(['/bin/sh', '-c', script], { ...LIMITS, ...over });

test('gives what the command writes to stdout', async () => {
  expect(await shell('echo one; echo noise >&2; echo two')).toEqual({ ok: true, stdout: 'one\ntwo\n' });
});

test('its words are words, whatever is in them', async () => {
  const words = ['a b', '$HOME', '`id`', '*', ';', ''];
  const { stdout } = await commandOutput(['/bin/sh', '-c', 'printf "<%s>" "$@"', 'sh', ...words], LIMITS);
  expect(stdout).toBe('<a b><$HOME><`id`><*><;><>');
});

test('has nothing on stdin to wait for', async () => {
  expect(await shell('cat; echo end')).toEqual({ ok: true, stdout: 'end\n' });
});

function plainFile(): string {
  const path = join(temporaryDirectory(), 'key');
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o600 });
  return path;
}

test.each<{ name: string; command: () => Command; why: RegExp }>([
  { name: 'is not there', command: () => ['/nowhere/key'], why: /no such program/ },
  { name: 'may not be run', command: () => [plainFile()], why: /may not run it/ },
  { name: 'fails', command: () => ['/bin/sh', '-c', 'exit 3'], why: /ended with exit code 3/ },
  { name: 'is killed', command: () => ['/bin/sh', '-c', 'kill -9 $$'], why: /SIGKILL ended it/ },
  { name: 'cannot have such words', command: () => ['/bin/sh', '\0'], why: /cannot be started/ },
])('says why when the command $name', async ({ command, why }) => {
  expect(await commandOutput(command(), LIMITS)).toMatchObject({
    ok: false,
    why: expect.stringMatching(why),
  });
});

test('keeps what it said on stderr, up to a bound', async () => {
  const said = await shell('echo sorry >&2; exit 1');
  expect(said).toMatchObject({ ok: false, stderr: 'sorry\n' });
  const long = await shell('yes | head -c 100000 >&2; exit 1');
  expect(long.ok ? 0 : long.stderr.length).toBe(2_000);
});

test('who writes without an end is killed', async () => {
  const output = await shell('yes');
  expect(output).toMatchObject({ ok: false, why: 'it wrote more than 1000 bytes to stdout' });
  expect(output.stdout).toHaveLength(1_000);
});

/** Tells its id, starts a child that holds stdout open, and goes on for ever. */
const endless = (file: string): string => `sleep 1000 & echo $! > ${file}.new; mv ${file}.new ${file}; wait`;

const isGone = (pid: number): boolean =>
  !existsSync(`/proc/${pid}`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

test('who does not end in time is killed, with all that it started', async () => {
  const file = join(temporaryDirectory(), 'pid');
  const stop = new AbortController();
  const output = shell(endless(file), { signal: stop.signal });
  await waitUntil('the child', 10_000, () => existsSync(file));
  const pid = Number(readFileSync(file, 'utf8'));
  expect(isGone(pid)).toBe(false);
  stop.abort();
  expect(await output).toMatchObject({ ok: false, why: 'this process is told to stop' });
  await waitUntil('the child to be gone', 10_000, () => isGone(pid));

  expect(await shell('sleep 1000', { timeoutMs: 1 })).toMatchObject({ why: 'it did not end within 0.001 s' });
});

test('what a command that has ended leaves behind, and holds stdout open, is killed too', async () => {
  const file = join(temporaryDirectory(), 'pids');
  const stop = new AbortController();
  const output = shell(`sleep 1000 & echo $$ $! > ${file}.new; mv ${file}.new ${file}`, {
    signal: stop.signal,
  });
  await waitUntil('what is left', 10_000, () => existsSync(file));
  const [command = 0, left = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
  await waitUntil('the command to be gone', 10_000, () => !existsSync(`/proc/${command}`));
  expect(isGone(left)).toBe(false);
  stop.abort();
  expect(await output).toMatchObject({ ok: false, why: 'this process is told to stop' });
  await waitUntil('what was left to be gone', 10_000, () => isGone(left));
});
