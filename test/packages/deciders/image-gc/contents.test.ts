import { expect, test } from 'vitest';
import { countingOnce, freeing } from '../../../../packages/deciders/image-gc/rules/contents.ts';

const MOST = Number.MAX_SAFE_INTEGER;

test.each([
  { bytes: [MOST, 2], sum: 2n ** 53n + 1n },
  { bytes: [2, MOST, MOST, 2], sum: 2n ** 54n + 2n },
  { bytes: [MOST, 0], sum: 2n ** 53n - 1n },
])('[D6] the pieces of an image are summed exactly where numbers are not: $bytes', ({ bytes, sum }) => {
  const contents = { pieces: [bytes.map((_, piece) => piece)], bytes };
  expect(freeing(contents)(0)).toBe(sum);
});

test('[D6] so are those of several images, each piece once', () => {
  const contents = { pieces: [[0, 1], [1, 2], [2]], bytes: [MOST, 2, MOST] };
  const count = countingOnce(contents);
  const at = (position: number) => ({ position });
  expect(count([at(0), at(1)])).toBe(2n ** 54n);
  expect(count([at(2)])).toBe(0n);
});
