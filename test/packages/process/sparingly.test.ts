import { expect, test } from 'vitest';
import { sparingly } from '../../../packages/process/sparingly.ts';

test('tells so many a minute about each thing', () => {
  let nowMs = 0;
  const mayTell = sparingly(2, () => nowMs);
  expect(['a', 'a', 'a', 'b', 'b', 'b'].map(mayTell)).toEqual([true, true, false, true, true, false]);
  nowMs = 60_000;
  expect(['a', 'b'].map(mayTell)).toEqual([true, true]);
});
