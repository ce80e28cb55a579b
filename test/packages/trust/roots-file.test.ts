import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { readTrustRoots } from '../../../packages/trust/roots-file.ts';
import { newKey } from '../../fixtures/trust.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

afterEach(() => vi.restoreAllMocks());

test('what the YAML parser would warn of stays out of the output: it quotes the file', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const path = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(path, 'fleet: !hunter2 prod\nroots: []\n');
  expect(() => readTrustRoots(path)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(warned).not.toHaveBeenCalled();
});

const { publicKey } = newKey();
const ROOT = `  - name: a\n    publicKey: "${publicKey}"\n`;

test.each([
  { name: 'is empty', text: '', why: /it names no root: there is nothing in it/ },
  { name: 'has only comments', text: '# roots go here\n', why: /it names no root/ },
  { name: 'names a fleet alone', text: 'fleet: prod\nroots: []\n', why: /roots/ },
  { name: 'has the same root twice', text: `fleet: prod\nroots:\n${ROOT}${ROOT}`, why: /stands there twice/ },
])('a file of roots is refused that $name', ({ text, why }) => {
  expect(() => readTrustRoots(rootsFile(text))).toThrow(why);
});

function rootsFile(text: string): string {
  const path = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(path, text);
  return path;
}

test('a file of roots that everybody may change says nothing of whom to believe', () => {
  const path = rootsFile(`fleet: prod\nroots:\n${ROOT}`);
  chmodSync(path, 0o664);
  expect(readTrustRoots(path).roots).toHaveLength(1);
  chmodSync(path, 0o646);
  expect(() => readTrustRoots(path)).toThrow(/every user of this machine may change it.*chmod o-w/);
});
