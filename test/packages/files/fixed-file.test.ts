import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  createFixedFile,
  encodeCopy,
  newestCopy,
  openFixedFile,
  openReadOnlyFile,
  roomIn,
  slotBytesFor,
} from '../../../packages/files/fixed-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const newPath = (): string => join(temporaryDirectory(), 'state');
/** Files in this directory that this process has open. */
const openIn = (directory: string): readonly string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(join('/proc/self/fd', fd));
      return path.startsWith(directory) ? [path] : [];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });

test('a file that is whole and holds no JSON is told as unreadable, with nothing of what it holds', () => {
  const path = newPath();
  const copy = encodeCopy(1n, Buffer.from('hunter2'));
  writeFileSync(path, Buffer.concat([copy, copy]));
  const read = () => openReadOnlyFile(path, z.object({})).read();
  expect(read).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
  expect(read).toThrow('its content is not JSON');
  expect(read).not.toThrow('hunter2');
});

test('a value of another form is told as unreadable, with what is wrong', () => {
  const path = newPath();
  createFixedFile(path, 100, { count: 'many' });
  expect(() => openReadOnlyFile(path, z.object({ count: z.int() })).read()).toThrow(
    expect.objectContaining({
      code: 'STATE_UNREADABLE',
      message: expect.stringMatching(/its content is of another form: .*count/s),
    }),
  );
});

test('a file that is not there holds nothing; what cannot be read is no such file', () => {
  const path = newPath();
  const read = () => openReadOnlyFile(path, z.string()).read();
  expect(read()).toBeNull();
  mkdirSync(path);
  expect(read).toThrow(
    expect.objectContaining({
      code: 'STATE_UNREADABLE',
      message: expect.stringContaining('it is a directory'),
      cause: expect.objectContaining({ code: 'FILE_REFUSED' }),
    }),
  );
});

test('a link that somebody else put in its place leads nowhere: what it names is neither read nor written', () => {
  const [path, other] = [newPath(), newPath()];
  const log = Buffer.alloc(1_000_000, 'a line of a log\n');
  writeFileSync(other, log);
  symlinkSync(other, path);
  const link = {
    code: 'STATE_UNREADABLE',
    message: expect.stringContaining('it is a symbolic link, which no state file is'),
  };
  expect(() => openFixedFile(path, 100, z.string()).write('mine')).toThrow(expect.objectContaining(link));
  expect(() => openReadOnlyFile(path, z.string()).read()).toThrow(expect.objectContaining(link));
  expect(readFileSync(other).equals(log)).toBe(true);
});

test('a link that takes the place of a file which is in use is not written through', () => {
  const [path, other] = [newPath(), newPath()];
  const log = Buffer.alloc(1_000_000, 'a line of a log\n');
  const file = openFixedFile(path, 100, z.string());
  file.write('before');
  writeFileSync(other, log);
  rmSync(path);
  symlinkSync(other, path);
  expect(() => file.write('after')).toThrow(
    expect.objectContaining({
      code: 'STATE_UNWRITABLE',
      message: expect.stringContaining('it is a symbolic link, which no state file is'),
    }),
  );
  expect(readFileSync(other).equals(log)).toBe(true);
});

test('a pipe in its place keeps nobody waiting', () => {
  const path = newPath();
  execFileSync('mkfifo', [path]);
  expect(() => openReadOnlyFile(path, z.string()).read()).toThrow(
    expect.objectContaining({ code: 'STATE_UNREADABLE' }),
  );
});

test('both copies damaged: told as unreadable', () => {
  const path = newPath();
  writeFileSync(path, 'rubbish');
  expect(() => openReadOnlyFile(path, z.string()).read()).toThrow('both copies in it are damaged');
});

describe('a file is made', () => {
  test('with the value that it begins with, at its full size, for its owner alone', () => {
    const path = newPath();
    createFixedFile(path, 10_000, 'first');
    expect(openReadOnlyFile(path, z.string()).read()).toBe('first');
    expect(statSync(path)).toMatchObject({ size: 2 * slotBytesFor(10_000) });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('large enough for that value, whatever room was asked for', () => {
    const path = newPath();
    const long = 'x'.repeat(9_000);
    createFixedFile(path, 1, long);
    expect(openReadOnlyFile(path, z.string()).read()).toBe(long);
  });

  test('never over one that is there', () => {
    const path = newPath();
    createFixedFile(path, 100, 'first');
    createFixedFile(path, 100, 'second');
    expect(openReadOnlyFile(path, z.string()).read()).toBe('first');
  });

  test('whole or not at all: nothing is left where it cannot be placed', () => {
    const directory = temporaryDirectory();
    // A link to nowhere is no file, and takes the name all the same.
    symlinkSync(join(directory, 'nowhere', 'x'), join(directory, 'state'));
    createFixedFile(join(directory, 'state'), 100, 'value');
    expect(readdirSync(directory)).toEqual(['state']);
    expect(() => createFixedFile(join(directory, 'missing', 'state'), 100, null)).toThrow(
      expect.objectContaining({
        code: 'STATE_UNWRITABLE',
        message: expect.stringContaining(`there is no directory ${join(directory, 'missing')}`),
      }),
    );
    expect(readdirSync(directory)).toEqual(['state']);
  });

  test('and written without a file that stays open', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'state');
    const file = openFixedFile(path, 100, z.string());
    for (const value of ['a', 'b', 'c']) file.write(value);
    expect(() => file.write('x'.repeat(10_000))).toThrow();
    rmSync(path);
    expect(() => file.write('d')).toThrow();
    expect(openIn(directory)).toEqual([]);
  });
});

describe('room', () => {
  test('is for a value of exactly as many bytes, and for no more', () => {
    const path = newPath();
    const file = openFixedFile(path, 100, z.string());
    const room = roomIn(slotBytesFor(100));
    const most = 'x'.repeat(room - 2);
    file.write(most);
    expect(file.read()).toBe(most);
    expect(() => file.write(`${most}x`)).toThrow(
      expect.objectContaining({
        code: 'STATE_UNWRITABLE',
        message: expect.stringContaining(`the value has ${room + 1} bytes, there is room for ${room}`),
      }),
    );
    expect(file.read()).toBe(most);
  });

  test.each([
    { bytes: 4_096 - 56, slot: 4_096 },
    { bytes: 4_096 - 55, slot: 8_192 },
  ])('for $bytes bytes takes $slot: whole blocks', ({ bytes, slot }) => {
    expect(slotBytesFor(bytes)).toBe(slot);
  });

  test('that is enough is not made anew, and one that is damaged grows as what it is', () => {
    const path = newPath();
    openFixedFile(path, 9_000, z.string()).write('kept');
    const { ino } = statSync(path);
    for (const bytes of [9_000, 100]) {
      openFixedFile(path, bytes, z.string());
      expect(statSync(path).ino).toBe(ino);
    }
    writeFileSync(path, Buffer.alloc(8_192, 7));
    const larger = openFixedFile(path, 20_000, z.string());
    expect(() => larger.read()).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
    expect(statSync(path).size).toBe(2 * slotBytesFor(20_000));
  });
});

test('a device in its place is not written to', () => {
  const directory = newPath();
  mkdirSync(directory);
  const path = join(directory, 'full');
  const file = openFixedFile(path, 100, z.string());
  rmSync(directory, { recursive: true });
  symlinkSync('/dev', directory);
  expect(() => file.write('x')).toThrow(
    expect.objectContaining({
      code: 'STATE_UNWRITABLE',
      message: expect.stringContaining(`cannot write the state file ${path}: it is no regular file`),
      cause: expect.objectContaining({ code: 'FILE_REFUSED' }),
    }),
  );
});

describe('of two copies', () => {
  const SLOT = slotBytesFor(10);
  /** A file of two slots, each with its copy at its beginning. */
  const fileOf = (...copies: readonly Buffer[]): Buffer => {
    const file = Buffer.alloc(2 * SLOT);
    for (const [slot, copy] of copies.entries()) copy.copy(file, slot * SLOT);
    return file;
  };
  const [older, newer] = [encodeCopy(6n, Buffer.from('older')), encodeCopy(7n, Buffer.from('newer'))];
  const found = (file: Buffer) => {
    const copy = newestCopy(file);
    return copy && { ...copy, value: copy.value.toString() };
  };
  const damaged = (copy: Buffer, at: number): Buffer => {
    const changed = Buffer.from(copy);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    return changed;
  };

  test('the newer counts, in whichever place it is', () => {
    expect(found(fileOf(older, newer))).toEqual({ slot: 1, sequence: 7n, value: 'newer' });
    expect(found(fileOf(newer, older))).toEqual({ slot: 0, sequence: 7n, value: 'newer' });
    expect(found(fileOf(newer, newer))).toMatchObject({ slot: 0 });
  });

  test.each(Array.from({ length: newer.length }, (_, at) => at))('one with byte %i changed is none', (at) => {
    expect(found(fileOf(older, damaged(newer, at)))).toEqual({ slot: 0, sequence: 6n, value: 'older' });
    expect(found(fileOf(damaged(newer, at), older))).toEqual({ slot: 1, sequence: 6n, value: 'older' });
    expect(found(fileOf(damaged(older, at)))).toBeNull();
  });

  test('one that claims more than its place holds is none, and one that fills it is one', () => {
    const full = encodeCopy(8n, Buffer.alloc(roomIn(SLOT), 'x'));
    expect(found(fileOf(full, older))).toMatchObject({ slot: 0, sequence: 8n });
    const long = encodeCopy(8n, Buffer.alloc(roomIn(SLOT) + 1, 'x'));
    expect(found(fileOf(long))).toBeNull();
    expect(found(older)).toBeNull();
    expect(found(Buffer.alloc(0))).toBeNull();
  });

  test('one whose length is more than its place holds is none, though its hash is right', () => {
    const copy = Buffer.alloc(SLOT, 'x');
    encodeCopy(8n, Buffer.alloc(0)).copy(copy);
    copy.writeUInt32BE(SLOT, 16);
    createHash('sha256').update(copy.subarray(0, 24)).update(copy.subarray(56)).digest().copy(copy, 24);
    expect(found(fileOf(copy))).toBeNull();
    expect(found(fileOf(older, copy))).toMatchObject({ slot: 0, value: 'older' });
  });

  test('one that is all header holds an empty value', () => {
    const [first, second] = [encodeCopy(1n, Buffer.alloc(0)), encodeCopy(2n, Buffer.alloc(0))];
    expect(found(Buffer.concat([first, second]))).toEqual({ slot: 1, sequence: 2n, value: '' });
    expect(found(Buffer.concat([first, second]).subarray(0, -2))).toBeNull();
  });

  test('a write goes to the older one', () => {
    const path = newPath();
    const file = openFixedFile(path, 100, z.string());
    for (const value of ['a', 'b', 'c']) {
      file.write(value);
      const before = readFileSync(path);
      file.write('next');
      const half = before.length / 2;
      const kept = [0, half].filter((start) =>
        before.subarray(start, start + half).equals(readFileSync(path).subarray(start, start + half)),
      );
      expect(kept).toHaveLength(1);
      expect(newestCopy(before)?.slot).toBe((kept[0] ?? 0) / half);
    }
  });
});
