import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDirectory } from '../../../../services/node/executor/pod-logs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function opened(path: string) {
  const directory = await openDirectory(path);
  onTestFinished(() => directory[Symbol.asyncDispose]());
  return directory;
}

async function openedBelow(path: string, name: string) {
  const directory = await (await opened(path)).open(name);
  if (directory === null) throw new Error(`${name} is no directory`);
  onTestFinished(() => directory[Symbol.asyncDispose]());
  return directory;
}

/** Empty for the descriptor by which the list itself was read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

describe('an open directory', () => {
  test('[I3, K3] is the same wherever it is moved, and whatever takes its place', async () => {
    const base = temporaryDirectory();
    const path = join(base, 'logs');
    for (const name of ['logs', 'precious']) {
      mkdirSync(join(base, name));
      writeFileSync(join(base, name, 'file'), '');
    }
    const directory = await opened(path);
    renameSync(path, join(base, 'moved'));
    symlinkSync(join(base, 'precious'), path);
    await directory.unlink('file');
    expect(readdirSync(join(base, 'precious'))).toEqual(['file']);
    expect(readdirSync(join(base, 'moved'))).toEqual([]);
  });

  test('[I3] opens directories as themselves, and no link, no file and nothing', async () => {
    const base = temporaryDirectory();
    mkdirSync(join(base, 'directory'));
    writeFileSync(join(base, 'file'), '');
    symlinkSync('directory', join(base, 'link'));
    const directory = await opened(base);
    expect((await openedBelow(base, 'directory')).path).toBe(join(base, 'directory'));
    for (const name of ['file', 'link', 'nothing']) expect(await directory.open(name)).toBeNull();
  });

  test('[I3, K3] opens none on which another filesystem is mounted, and says where', async () => {
    await expect((await opened('/')).open('proc')).rejects.toThrow('something is mounted at /proc');
  });

  test('leaves nothing open of what it refuses to open', async () => {
    const openPaths = () => readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
    const before = openPaths().filter((path) => path === '/sys');
    await expect((await opened('/')).open('sys')).rejects.toThrow('something is mounted at /sys');
    expect(openPaths().filter((path) => path === '/sys')).toEqual(before);
  });

  test('[I3] takes nothing for missing that it could not look for', async () => {
    const directory = await opened(temporaryDirectory());
    await expect(directory.open('x'.repeat(300))).rejects.toThrow('ENAMETOOLONG');
  });

  test('[K3] does nothing once it is closed, when its descriptor can be that of another', async () => {
    const [base, other] = [temporaryDirectory(), temporaryDirectory()];
    writeFileSync(join(other, 'file'), '');
    const directory = await openDirectory(base);
    await directory[Symbol.asyncDispose]();
    await opened(other);
    await expect(directory.unlink('file')).rejects.toThrow(`${base} is not open any more`);
    expect(readdirSync(other)).toEqual(['file']);
  });

  test('what is missing is no error, be it the directory', async () => {
    const base = temporaryDirectory();
    mkdirSync(join(base, 'gone'));
    const gone = await opened(join(base, 'gone'));
    rmdirSync(join(base, 'gone'));
    expect(await gone.names()).toEqual([]);
    const directory = await opened(temporaryDirectory());
    expect([await directory.lstat('a'), await directory.stat('a')]).toEqual([null, null]);
    await directory.unlink('a');
    await directory.rmdir('a');
  });

  test.each(['unlink', 'rmdir', 'stat'] as const)('errors of %s name the path', async (operation) => {
    const base = temporaryDirectory();
    mkdirSync(join(base, 'outer', 'full', 'below'), { recursive: true });
    symlinkSync('loop', join(base, 'outer', 'loop'));
    const name = operation === 'stat' ? 'loop' : 'full';
    const failing = (await openedBelow(base, 'outer'))[operation](name);
    const message = expect.stringContaining(`${operation} '${join(base, 'outer', name)}'`);
    await expect(failing).rejects.toMatchObject({ message });
  });
});
