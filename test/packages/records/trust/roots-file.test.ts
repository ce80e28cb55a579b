import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readTrustRoots, trustRootsText } from '../../../../packages/records/trust/roots-file.ts';
import { newKey, rootsOf } from '../../../fixtures/trust.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

afterEach(() => vi.restoreAllMocks());

test('what the YAML parser would warn of stays out of the output: it quotes the file', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const path = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(path, 'fleet: !hunter2 prod\nroots: []\n');
  expect(() => readTrustRoots(path)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(warned).not.toHaveBeenCalled();
});

function written(text: string): string {
  const path = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(path, text);
  return path;
}

test('the file that is written is read as it was meant', () => {
  const roots = rootsOf(newKey(), newKey());
  expect(readTrustRoots(written(trustRootsText(roots)))).toEqual(roots);
  const [first] = roots.roots;
  const odd = { ...roots, roots: [{ name: 'a: "b" # c', publicKey: first?.publicKey ?? '' }] };
  expect(readTrustRoots(written(trustRootsText(odd)))).toEqual(odd);
});

describe('a file of roots cannot be used', () => {
  const [root] = rootsOf(newKey()).roots;
  const twice = { fleet: 'prod', roots: [root, root].flatMap((one) => one ?? []) };

  test.each([
    { name: 'that is no YAML', text: 'fleet: [', why: 'it is no valid YAML' },
    { name: 'that lacks something', text: 'fleet: prod\n', why: 'roots' },
    { name: 'that is empty', text: '', why: 'it names no root: there is nothing in it' },
    { name: 'with comments alone', text: '# roots go here\n', why: 'it names no root' },
    { name: 'with a fleet alone', text: 'fleet: prod\nroots: []\n', why: 'roots' },
    { name: 'with one root twice', text: trustRootsText(twice), why: 'the same root stands there twice' },
    { name: 'with too many keys to read', text: '{"":,'.repeat(10_001), why: 'more than the 10000 colons' },
    // To write these keys as text takes half a minute.
    {
      name: 'with maps as keys of maps',
      text: `${'{'.repeat(500)}${'}'.repeat(500)}`,
      why: 'it is no valid YAML',
    },
    { name: 'that is too large', text: `#${' '.repeat(65_536)}`, why: 'it has more than 65536 bytes' },
  ])('$name', ({ text, why }) => {
    const path = written(text);
    expect(() => readTrustRoots(path)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`the file of roots ${path} cannot be used: `),
      }),
    );
    expect(() => readTrustRoots(path)).toThrow(why);
    expect(() => readTrustRoots(path)).not.toThrow(/\n/);
  });

  test('that is a directory, or not there', () => {
    const directory = join(temporaryDirectory(), 'roots');
    mkdirSync(directory);
    expect(() => readTrustRoots(directory)).toThrow('it is no file');
    expect(() => readTrustRoots('/nowhere/roots.yaml')).toThrow(/cannot be used: there is no such file\./);
  });

  test('a file of as many bytes as it may have is read', () => {
    const text = trustRootsText(rootsOf(newKey()));
    expect(readTrustRoots(written(`${text}\n#${'x'.repeat(65_536 - text.length - 2)}`)).fleet).toBe('prod');
  });

  test('that everybody may change', () => {
    const path = written(trustRootsText(rootsOf(newKey())));
    chmodSync(path, 0o664);
    expect(readTrustRoots(path).roots).toHaveLength(1);
    chmodSync(path, 0o646);
    expect(() => readTrustRoots(path)).toThrow(/every user of this machine may change it.*chmod o-w/);
  });
});
