import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTextFile } from '../../../packages/process/options/named-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MORE = { ok: false, reason: 'it has more than the 100000 bytes that are read' };

test('a file is read whole, and one with more bytes than are asked for is not', () => {
  const path = join(temporaryDirectory(), 'file');
  const text = 'ß'.repeat(50_000);
  writeFileSync(path, text);
  expect(readTextFile(path)).toEqual({ ok: true, text });
  expect(readTextFile(path, 100_000)).toEqual({ ok: true, text });
  writeFileSync(path, `${text}.`);
  expect(readTextFile(path, 100_000)).toEqual(MORE);
});

test('what has no end is read no further than that', () => {
  expect(readTextFile('/dev/zero', 100_000)).toEqual(MORE);
});

test('a pipe is read to its end', async () => {
  const path = join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  const writer = spawn('sh', ['-c', `printf one > ${path}`]);
  const ended = once(writer, 'exit');
  expect(readTextFile(path, 100_000)).toEqual({ ok: true, text: 'one' });
  await ended;
});

test('what cannot be read says why', () => {
  const path = join(temporaryDirectory(), 'file');
  expect(readTextFile(path)).toEqual({ ok: false, reason: 'there is no such file' });
  mkdirSync(path);
  expect(readTextFile(path)).toEqual({ ok: false, reason: 'it is a directory' });
});
