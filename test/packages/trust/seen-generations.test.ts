import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFixedFile } from '../../../packages/files/fixed-file.ts';
import {
  SEEN_GENERATIONS_FILE,
  SeenFile,
  SeenGenerations,
} from '../../../packages/trust/seen-generations.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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
});

test('two thousand policies fit', () => {
  const { path, seen } = kept();
  const many = Array.from({ length: 2_000 }, (_, at): [string, number] => [
    `policy-${at}`.padEnd(60, 'x'),
    Date.now(),
  ]);
  seen.saw('policies', new Map(many));
  expect(kept(path).seen.keys('policies')).toHaveLength(2_000);
});
