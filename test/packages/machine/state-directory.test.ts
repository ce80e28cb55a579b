import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeStateFiles, openStateDirectory } from '../../../packages/machine/state-directory.ts';

const Counter = z.object({ count: z.int() });
const MACHINE = 'machine-a';
let directory: string;
const open = (machineId = MACHINE) => openStateDirectory(directory, machineId);
const pathOf = (name: string) => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fleetgc-state-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the node instance', () => {
  test('is kept from start to start', () => {
    expect(open().nodeInstance).toBe(open().nodeInstance);
  });

  test('is another one in another directory', () => {
    const other = openStateDirectory(join(directory, 'below', 'here'), MACHINE);
    expect(other.nodeInstance).not.toBe(open().nodeInstance);
  });

  test.each([
    { path: '/proc/fleetgc', says: '/proc takes no new directories' },
    { path: '/dev/null/state', says: '/dev/null is no directory' },
  ])('cannot be kept where no directory can be made: $path', ({ path, says }) => {
    expect(() => openStateDirectory(path, MACHINE)).toThrow(
      expect.objectContaining({
        code: 'STATE_UNWRITABLE',
        message: `cannot make the state directory ${path}: ${says}; nothing was started; --state-directory names another place`,
      }),
    );
  });

  test('is another one on another machine, and the first again on the first', () => {
    const first = open('a').nodeInstance;
    expect(open('b').nodeInstance).not.toBe(first);
    expect(open('a').nodeInstance).toBe(first);
  });

  test('is not made for a machine without an id', () => {
    expect(() => open(' \n')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('is not replaced when its file is damaged', () => {
    open();
    const [file = ''] = readdirSync(directory);
    writeFileSync(pathOf(file), Buffer.alloc(8192, 7));
    expect(() => open()).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
  });
});

describe('a fixed file', () => {
  const counter = () => open().open('counter', 100, Counter);

  test('has no value at first', () => {
    expect(counter().read()).toBeNull();
  });

  test('gives back the last value, in this process and the next', () => {
    const file = counter();
    for (const count of [1, 2, 3]) file.write({ count });
    expect(file.read()).toEqual({ count: 3 });
    expect(counter().read()).toEqual({ count: 3 });
  });

  test('keeps its size and its blocks from the first opening on', () => {
    const file = open().open('large', 200_000, z.string());
    const before = statSync(pathOf('large'));
    file.write('x'.repeat(150_000));
    file.write('y'.repeat(150_000));
    const after = statSync(pathOf('large'));
    expect(after).toMatchObject({ size: before.size, blocks: before.blocks, ino: before.ino });
    expect(before.blocks * 512).toBeGreaterThanOrEqual(before.size);
  });

  test('leaves nothing else behind', () => {
    counter().write({ count: 1 });
    expect(readdirSync(directory).filter((name) => !name.startsWith('instance-'))).toEqual(['counter']);
  });

  test('grows with its value when a later release wants more room', () => {
    counter().write({ count: 7 });
    const larger = open().open('counter', 100_000, Counter);
    expect(larger.read()).toEqual({ count: 7 });
    expect(statSync(pathOf('counter')).size).toBeGreaterThan(200_000);
    larger.write({ count: 8 });
    expect(counter().read()).toEqual({ count: 8 });
  });
});

describe('a write that was cut off', () => {
  /** Overwrites the copy that the last write went to with its first `bytes` and rubbish after them. */
  function tear(name: string, before: Buffer, bytes: number): void {
    const after = readFileSync(pathOf(name));
    const start = after.findIndex((byte, at) => byte !== before[at]);
    const slot = start < after.length / 2 ? 0 : after.length / 2;
    const torn = Buffer.from(before);
    after.copy(torn, slot, slot, slot + bytes);
    writeFileSync(pathOf(name), torn);
  }

  test.each([8, 16, 20, 40, 56, 60])('after %i bytes leaves the former value', (bytes) => {
    const file = open().open('counter', 100, Counter);
    for (const count of [1, 2, 3]) file.write({ count });
    const before = readFileSync(pathOf('counter'));
    file.write({ count: 4 });
    tear('counter', before, bytes);
    const restarted = open().open('counter', 100, Counter);
    expect(restarted.read()).toEqual({ count: 3 });
    restarted.write({ count: 5 });
    expect(restarted.read()).toEqual({ count: 5 });
  });

  test('leaves no value when it was the first', () => {
    const file = open().open('counter', 100, Counter);
    const before = readFileSync(pathOf('counter'));
    file.write({ count: 1 });
    tear('counter', before, 40);
    expect(open().open('counter', 100, Counter).read()).toBeNull();
  });
});

describe('a damaged file', () => {
  const damage = {
    'rubbish in both copies': () => writeFileSync(pathOf('counter'), Buffer.alloc(8192, 1)),
    'zeros in both copies': () => writeFileSync(pathOf('counter'), Buffer.alloc(8192)),
    'cut to nothing': () => writeFileSync(pathOf('counter'), ''),
    'cut to a part': () => writeFileSync(pathOf('counter'), readFileSync(pathOf('counter')).subarray(0, 30)),
  };

  test.each(Object.entries(damage))('%s says so, and takes a new value', (_, hurt) => {
    open().open('counter', 100, Counter).write({ count: 1 });
    hurt();
    const file = open().open('counter', 100, Counter);
    expect(() => file.read()).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
    file.write({ count: 2 });
    expect(open().open('counter', 100, Counter).read()).toEqual({ count: 2 });
  });

  test('one flipped bit in the newest copy gives the copy before it', () => {
    const file = open().open('counter', 100, Counter);
    file.write({ count: 1 });
    file.write({ count: 2 });
    const bytes = readFileSync(pathOf('counter'));
    const at = bytes.indexOf('{"count":2}') + 9;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(pathOf('counter'), bytes);
    expect(file.read()).toEqual({ count: 1 });
  });

  test('a whole value of another form is not believed', () => {
    open()
      .open('counter', 100, z.object({ other: z.string() }))
      .write({ other: 'x' });
    expect(() => open().open('counter', 100, Counter).read()).toThrow(
      expect.objectContaining({ code: 'STATE_UNREADABLE', message: expect.stringContaining('count') }),
    );
  });
});

describe('a write that fails', () => {
  const unwritable = expect.objectContaining({ code: 'STATE_UNWRITABLE' });

  test('on a full disk says so, and the former value stays', () => {
    const file = open().open('full', 100, Counter);
    file.write({ count: 1 });
    renameSync(directory, `${directory}-aside`);
    symlinkSync('/dev', directory);
    expect(() => file.write({ count: 2 })).toThrow(unwritable);
    rmSync(directory);
    renameSync(`${directory}-aside`, directory);
    expect(file.read()).toEqual({ count: 1 });
    file.write({ count: 3 });
    expect(file.read()).toEqual({ count: 3 });
  });

  test('because the value has no room says so, and the former value stays', () => {
    const file = open().open('text', 100, z.string());
    file.write('short');
    expect(() => file.write('x'.repeat(5_000))).toThrow(unwritable);
    expect(file.read()).toBe('short');
  });

  test('in a directory that is gone says so', () => {
    const state = open();
    const file = state.open('counter', 100, Counter);
    rmSync(directory, { recursive: true });
    expect(() => file.write({ count: 1 })).toThrow(unwritable);
    expect(() => state.open('other', 100, Counter)).toThrow(unwritable);
  });

  test('a directory that cannot be made says so', () => {
    writeFileSync(pathOf('file'), '');
    expect(() => openStateDirectory(pathOf('file/below'), MACHINE)).toThrow(unwritable);
  });
});

describe('what a role keeps', () => {
  const main = { name: 'main', bytes: 100 };
  const other = { name: 'other', bytes: 9_000 };
  const notToBeMade = { name: 'missing/file', bytes: 100 };

  test('is there at its full size before anything begins', () => {
    makeStateFiles(directory, { main, others: [other] });
    const sizes = readdirSync(directory).map((name) => [name, statSync(pathOf(name)).size]);
    expect(Object.fromEntries(sizes)).toEqual({ main: 2 * 4096, other: 2 * 3 * 4096 });
  });

  test('that cannot be made ends the first start, and the next one is a first start again', () => {
    for (const _ of ['first', 'next'])
      expect(() => makeStateFiles(directory, { main, others: [other, notToBeMade] })).toThrow(
        expect.objectContaining({
          code: 'STATE_UNWRITABLE',
          message: expect.stringMatching(
            /missing\/file: .*; nothing was started; --state-directory names another place$/,
          ),
        }),
      );
    expect(readdirSync(directory)).toEqual(['other']);
  });

  test('is made anew one by one once it was there: a later start goes on without', () => {
    makeStateFiles(directory, { main, others: [] });
    makeStateFiles(directory, { main, others: [notToBeMade] });
    expect(() => open().open('missing/file', 100, Counter)).toThrow(
      /missing\/file: [^;]*; --state-directory names another place$/,
    );
  });
});

describe('a second process', () => {
  test('reads what the first writes, from before the file exists', () => {
    const reader = open().openReadOnly('counter', Counter);
    expect(reader.read()).toBeNull();
    const writer = open().open('counter', 100, Counter);
    expect(reader.read()).toBeNull();
    for (const count of [1, 2, 3]) {
      writer.write({ count });
      expect(reader.read()).toEqual({ count });
    }
    open().open('counter', 50_000, Counter).write({ count: 4 });
    expect(reader.read()).toEqual({ count: 4 });
  });
});
