import { expect, test } from 'vitest';
import {
  createDeadLetterRateLimit,
  DEAD_LETTERS_PER_MINUTE,
} from '../../../../packages/pipeline/dead-letters/dead-letter-rate-limit.ts';

const MINUTE_MS = 60_000;

const take = (times: number, limit = createDeadLetterRateLimit(), key = 'a', atMs = 0) => ({
  limit,
  places: Array.from({ length: times }, () => limit.take(key, atMs)),
});

test('ten dead letters of a key are kept in a minute, and the eleventh is counted', () => {
  const { places } = take(DEAD_LETTERS_PER_MINUTE + 1);
  expect(places.map(({ kept }) => kept)).toEqual([...Array(10).fill(true), false]);
});

test('the next one that is kept says how many were only counted', () => {
  const { limit } = take(14);
  expect(limit.take('a', MINUTE_MS - 1)).toMatchObject({ kept: false });
  expect(limit.take('a', MINUTE_MS)).toMatchObject({ kept: true, suppressedBefore: 5 });
  expect(limit.take('a', MINUTE_MS)).toMatchObject({ kept: true, suppressedBefore: 0 });
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
  expect(limit.take('b', 0)).toMatchObject({ kept: true, suppressedBefore: 0 });
});

test('what could not be written takes no place and is not counted', () => {
  const { limit, places } = take(12);
  for (const place of places) place.undo();
  expect(take(11, limit).places.map(({ kept }) => kept)).toEqual([...Array(10).fill(true), false]);
  expect(limit.take('a', MINUTE_MS)).toMatchObject({ kept: true, suppressedBefore: 1 });
});

test('a count that could not be told is told with the next', () => {
  const { limit } = take(13);
  limit.take('a', MINUTE_MS).undo();
  expect(limit.take('a', MINUTE_MS)).toMatchObject({ kept: true, suppressedBefore: 3 });
});

test('the memory for keys is bounded; a key in use is not forgotten', () => {
  const { limit } = take(10, createDeadLetterRateLimit(), 'used');
  for (let i = 0; i < 20_000; i++) {
    limit.take(`key-${i}`, 0);
    if (i % 1000 === 0) limit.take('used', 0);
  }
  expect(limit.take('used', 0)).toMatchObject({ kept: false });
});
