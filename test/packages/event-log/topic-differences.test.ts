import { expect, test } from 'vitest';
import type { TopicDifference } from '../../../packages/event-log/port.ts';
import { differenceSentences } from '../../../packages/event-log/topic-differences.ts';

const differs = (topic: TopicDifference['topic'], message: string): TopicDifference => ({
  topic,
  kind: 'config',
  expected: '',
  found: '',
  message,
});

test('what several topics have in common is said once, and names them all', () => {
  expect(
    differenceSentences([
      differs('gc.policies', 'Topic gc.policies has one copy.'),
      differs('gc.node.inventory', 'Topic gc.node.inventory is missing.'),
      differs('gc.node.results', 'Topic gc.node.results has one copy.'),
      differs('gc.dead-letters', 'Topic gc.dead-letters has one copy.'),
    ]),
  ).toEqual([
    'Topic gc.policies has one copy. The same holds for gc.node.results, gc.dead-letters.',
    'Topic gc.node.inventory is missing.',
  ]);
});
