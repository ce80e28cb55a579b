import { expect, test } from 'vitest';
import { createFolding, createTimeline } from '../../../../packages/audit/explain/timeline.ts';
import type { EntryOf } from '../../../../schemas/reports/timeline.ts';
import { MINUTE, NOW } from '../../../fixtures/time.ts';

const entry = (minute: number, reason: string): EntryOf<'undecided'> => ({
  what: 'undecided',
  loggedAtMs: NOW + minute * MINUTE,
  nodeTimeMs: NOW + minute * MINUTE,
  record: { topic: 'gc.node.decisions', partition: 0, offset: String(minute) },
  object: { kind: 'image', id: 'a', name: 'web:1' },
  times: 1,
  last: { loggedAtMs: NOW + minute * MINUTE, nodeTimeMs: NOW + minute * MINUTE },
  decider: 'image-gc',
  decisionId: `d${minute}`,
  outcome: 'nothing-to-do',
  reason,
  policy: null,
});

function folded(...reasons: readonly string[]) {
  const timeline = createTimeline();
  const folding = createFolding(timeline);
  for (const [minute, reason] of reasons.entries()) folding.note('same', entry(minute, reason));
  const [only] = timeline.entries();
  return only?.what === 'undecided' ? only : undefined;
}

test('what is told once says the least and the most of its numbers, also of one that rose and fell', () => {
  expect(
    folded('used to 60%, below 85%', 'used to 73%, below 85%', 'used to 64.5%, below 85%'),
  ).toMatchObject({
    times: 3,
    reason: 'used to 64.5%, below 85%',
    spread: { least: { reason: 'used to 60%, below 85%' }, most: { reason: 'used to 73%, below 85%' } },
  });
});

test('where nothing differs, or the words do, the last one holds', () => {
  expect(folded('used to 60%', 'used to 60%')).not.toHaveProperty('spread');
  expect(folded('used to 60%', 'all is well')).toMatchObject({ reason: 'all is well' });
  expect(folded('used to 60%', 'all is well')).not.toHaveProperty('spread');
});
