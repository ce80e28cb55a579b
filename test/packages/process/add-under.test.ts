import { expect, test } from 'vitest';
import { addUnder } from '../../../packages/process/collections.ts';

test('each item stands in the list of its key, which is not made anew', () => {
  const lists = new Map<string, number[]>();
  addUnder(lists, 'a', 1);
  const list = lists.get('a');
  addUnder(lists, 'a', 2);
  addUnder(lists, 'b', 3);
  expect([...lists]).toEqual([
    ['a', [1, 2]],
    ['b', [3]],
  ]);
  expect(lists.get('a')).toBe(list);
});
