import { expect, test } from 'vitest';
import { partitionDifference } from '../../../packages/log/topic-differences.ts';

test('whoever has to create a topic anew is told to archive first, and what is lost otherwise', () => {
  expect(partitionDifference('gc.node.results', 3, {})?.message).toMatch(
    /fleetgc audit archive, delete the topic, create it with: .*Without the archive its records are lost/,
  );
});
