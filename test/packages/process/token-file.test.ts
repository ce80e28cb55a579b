import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holderOfToken, readTokenFile } from '../../../packages/process/token-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const TOKEN = 't'.repeat(32);

function fileOf(mode: number, directory = temporaryDirectory()): string {
  const path = join(directory, 'tokens');
  writeFileSync(path, `# who\ncaller ann ${TOKEN}\n`);
  chmodSync(path, mode);
  return path;
}

/** As the kubelet mounts a Secret: the name leads by a link to a folder that a link leads to. */
function mounted(mode: number): string {
  const directory = temporaryDirectory();
  const version = join(directory, '..2026');
  mkdirSync(version);
  fileOf(mode, version);
  symlinkSync('..2026', join(directory, '..data'));
  symlinkSync('..data/tokens', join(directory, 'tokens'));
  return join(directory, 'tokens');
}

test.each<readonly [string, () => string]>([
  ['its user alone', () => fileOf(0o600)],
  ['its group too', () => fileOf(0o640)],
  ['its group too, where a Secret is mounted with defaultMode 0440', () => mounted(0o440)],
])('a file of tokens that can be opened by %s is read', (_, path) => {
  const holders = readTokenFile(path(), ['caller']);
  expect(holderOfToken(holders, TOKEN)).toMatchObject({ name: 'ann', role: 'caller' });
});

test.each<readonly [string, () => string, RegExp]>([
  [
    'everybody may open',
    () => fileOf(0o604),
    /every user of this machine may open it; "chmod o= \S+" mends that/,
  ],
  ['everybody may open, where a Secret is mounted', () => mounted(0o444), /every user of this machine/],
  ['is a folder', temporaryDirectory, /it is no file/],
  ['is not there', () => join(temporaryDirectory(), 'none'), /there is no such file/],
])('one that %s is refused', (_, path, why) => {
  const file = path();
  expect(() => readTokenFile(file, ['caller'])).toThrow(why);
  expect(() => readTokenFile(file, ['caller'])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
