import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFixedFile } from '../../../../packages/files/fixed-file.ts';
import {
  SEEN_GENERATIONS_FILE,
  SeenFile,
  SeenGenerations,
} from '../../../../packages/records/trust/seen-generations.ts';
import { SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

function kept(path = join(temporaryDirectory(), SEEN_GENERATIONS_FILE.name)) {
  return { path, seen: new SeenGenerations(openFixedFile(path, SEEN_GENERATIONS_FILE.bytes, SeenFile)) };
}

test('what was seen is known after a restart, and never lower', () => {
  const { path, seen } = kept();
  seen.saw(
    'policies',
    new Map([
      ['web', 7],
      ['db', 3],
    ]),
  );
  seen.saw('policies', new Map([['web', 5]]));
  seen.saw('keys', new Map([['web', 1]]));
  const again = kept(path).seen;
  expect([again.of('policies', 'web'), again.of('policies', 'db'), again.of('keys', 'web')]).toEqual([
    7, 3, 1,
  ]);
  expect(again.of('policies', 'other')).toBe(0);
  expect(again.keys('policies')).toEqual(['web', 'db']);
});

test('what cannot be kept is known while the process runs, and told', () => {
  const told: unknown[] = [];
  const full = {
    read: () => null,
    write: () => {
      throw new Error('the disk is full');
    },
  };
  const seen = new SeenGenerations(full, (error) => told.push(error));
  seen.saw('policies', new Map([['web', 7]]));
  expect(seen.of('policies', 'web')).toBe(7);
  expect(told).toHaveLength(1);
  expect(seen.problem()).toBeNull();
});

const many = (howMany: number, length: number): ReadonlyMap<string, number> =>
  new Map(
    Array.from({ length: howMany }, (_, at) => [`!pause ${at}`.padEnd(length, 'x'), SIGNED_AT_MS + at]),
  );

test('ten thousand policies and keys fit', () => {
  const { path, seen } = kept();
  seen.saw('policies', many(5_000, 60));
  seen.saw('keys', many(5_000, 73));
  expect(seen.problem()).toBeNull();
  const again = kept(path).seen;
  expect([again.keys('policies'), again.keys('keys')].map(({ length }) => length)).toEqual([5_000, 5_000]);
});

test('a pause whose key fills a message leaves room for what was seen of keys', () => {
  const { path, seen } = kept();
  const [key = ''] = many(1, 2_000_000).keys();
  seen.saw('policies', new Map([[key, 7]]));
  seen.saw('keys', new Map([['root revoked key', 5]]));
  const again = kept(path).seen;
  expect([again.of('policies', key), again.of('policies', `${key}x`)]).toEqual([7, 0]);
  expect(again.of('keys', 'root revoked key')).toBe(5);
});

test('what a restart would forget for want of room may not be relied on, until there is room', () => {
  const { path, seen } = kept();
  const flood = many(20_000, 60);
  seen.saw('policies', flood);
  seen.saw('keys', new Map([['root revoked key', 5]]));
  expect(kept(path).seen.of('keys', 'root revoked key')).toBe(0);
  expect(seen.problem()).toMatch(/a restart would forget what came last/);
  seen.forget('policies', [...flood.keys()]);
  expect(seen.problem()).toBeNull();
  expect(kept(path).seen.of('keys', 'root revoked key')).toBe(5);
});

/** A file that says what was written to it. */
function counted(read: SeenFile | null = null) {
  const written: SeenFile[] = [];
  const seen = new SeenGenerations({ read: () => read, write: (value) => void written.push(value) });
  return { seen, written };
}

test('time is written by the minute, and counts at once', () => {
  const { seen, written } = counted({ version: 3, keys: {}, policies: {}, passedMs: SIGNED_AT_MS });
  seen.passed(SIGNED_AT_MS + 59_999);
  expect([seen.passedMs, written.length]).toEqual([SIGNED_AT_MS + 59_999, 0]);
  seen.passed(SIGNED_AT_MS + 60_000);
  seen.passed(SIGNED_AT_MS + 60_001);
  expect(written.map(({ passedMs }) => passedMs)).toEqual([SIGNED_AT_MS + 60_000]);
});

test('nothing is written where nothing is new, nor forgotten', () => {
  const { seen, written } = counted();
  seen.saw('policies', new Map([['web', 7]]));
  seen.saw('policies', new Map([['web', 7]]));
  seen.saw('policies', new Map());
  seen.forget('policies', ['db']);
  expect(written).toHaveLength(1);
  seen.forget('policies', ['web']);
  expect(written.map(({ policies }) => policies)).toEqual([{ web: 7 }, {}]);
});

test('without a file nothing is written, and all is known', () => {
  const told: unknown[] = [];
  const seen = new SeenGenerations(null, (error) => told.push(error));
  seen.saw('keys', new Map([['a', 1]]));
  expect([seen.of('keys', 'a'), told]).toEqual([1, []]);
});
