import { expect, test } from 'vitest';
import {
  createDeadLetterRateLimit,
  DEAD_LETTERS_PER_MINUTE,
} from '../../../../packages/records/dead-letters/dead-letters.ts';

const MINUTE_MS = 60_000;

const take = (times: number, limit = createDeadLetterRateLimit(), key = 'a', atMs = 0) => ({
  limit,
  places: Array.from({ length: times }, () => limit.take(key, atMs)),
});

test('ten dead letters of a key are kept in a minute, and not the eleventh', () => {
  const { places } = take(DEAD_LETTERS_PER_MINUTE + 1);
  expect(places.map(({ kept }) => kept)).toEqual([...Array(10).fill(true), false]);
});

test('a minute later there is room again', () => {
  const { limit } = take(14);
  expect(limit.take('a', MINUTE_MS - 1)).toMatchObject({ kept: false });
  expect(limit.take('a', MINUTE_MS)).toMatchObject({ kept: true });
});

test('the minute slides: a place is free one minute after it was taken', () => {
  const { limit } = take(5);
  take(5, limit, 'a', 30_000);
  expect(take(6, limit, 'a', MINUTE_MS).places.map(({ kept }) => kept)).toEqual([
    true,
    true,
    true,
    true,
    true,
    false,
  ]);
});

test('keys do not share their places', () => {
  const { limit } = take(11);
  expect(limit.take('b', 0)).toMatchObject({ kept: true });
});

test('what could not be written takes no place', () => {
  const { limit, places } = take(12);
  for (const place of places) place.undo();
  expect(take(11, limit).places.map(({ kept }) => kept)).toEqual([...Array(10).fill(true), false]);
});

test('the memory for keys is bounded; a key in use is not forgotten', () => {
  const { limit } = take(10, createDeadLetterRateLimit(), 'used');
  for (let i = 0; i < 20_000; i++) {
    limit.take(`key-${i}`, 0);
    if (i % 1000 === 0) limit.take('used', 0);
  }
  expect(limit.take('used', 0)).toMatchObject({ kept: false });
});
