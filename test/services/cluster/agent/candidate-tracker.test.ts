import { expect, test } from 'vitest';
import { CandidateTracker } from '../../../../services/cluster/agent/candidates.ts';
import { candidate } from '../../../fixtures/ownership.ts';

test('[cluster S1] candidates that take long to count leave time for all else, and nothing is told before all of them are counted', () => {
  let nowMs = 0;
  const counted: string[] = [];
  const tracker = new CandidateTracker({
    count: (uid) => {
      nowMs += 150;
      counted.push(uid);
      return true;
    },
    look: (uid) => candidate({ object: { uid } }),
    isThere: () => true,
    all: () => [],
    nowMs: () => nowMs,
  });
  for (const uid of ['a', 'b', 'c', 'd', 'e']) tracker.touch(uid);
  const takes = [tracker.take(), tracker.take(), tracker.take()];
  expect(takes.map(({ isCounting, candidates }) => [isCounting, candidates.length])).toEqual([
    [true, 0],
    [true, 0],
    [false, 5],
  ]);
  expect(counted).toEqual(['a', 'b', 'c', 'd', 'e']);
});
