import { expect, test } from 'vitest';
import { parseOptions } from './options.ts';

test('without options twenty seeds are played', () => {
  expect(parseOptions([])).toEqual({
    seeds: Array.from({ length: 20 }, (_, index) => index + 1),
    subjects: null,
    batch: 10,
    lanes: 1,
    planted: null,
    json: false,
  });
});

test('what is asked for is played', () => {
  expect(parseOptions(['--seed', '41', '--json'])).toMatchObject({ seeds: [41], json: true });
  expect(parseOptions(['--seeds', '3', '--only', 'ownership', '--batch', '2', '--lanes', '2'])).toMatchObject(
    {
      seeds: [1, 2, 3],
      subjects: ['ownership'],
      batch: 2,
      lanes: 2,
    },
  );
  expect(parseOptions(['--seeds', '7-9'])).toMatchObject({ seeds: [7, 8, 9] });
  expect(parseOptions(['--help'])).toBeNull();
});

test.each([
  [['--seeds', '0'], '--seeds is 0; it must be a whole number above 0'],
  [['--seed', 'x'], '--seed is x; it must be a whole number above 0'],
  [['--seeds', '9-7'], '--seeds is 9-7; the first number must not be the larger one'],
  [['--seeds', '2', '--seed', '1'], 'give either --seeds or --seed'],
  [['--only', 'nodes'], '--only is nodes; it must be one of ownership, pods, ended-pods, jobs, requests, '],
])('%j is refused with a reason', (args, message) => {
  expect(() => parseOptions(args)).toThrow(message);
});
