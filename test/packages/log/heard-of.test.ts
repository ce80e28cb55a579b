import { expect, test } from 'vitest';
import { differencesSince } from '../../../packages/log/heard-of.ts';
import type { TopicDifference } from '../../../packages/log/port.ts';
import { missingTopic } from '../../../packages/log/topic-differences.ts';

/** A log that gives these answers, and the last of them for ever. */
function answering(...answers: readonly (readonly TopicDifference[])[]) {
  let asked = 0;
  return {
    checkTopics: async () => answers[Math.min(asked++, answers.length - 1)] ?? [],
    asked: () => asked,
  };
}

const missing = [missingTopic('gc.policies', {})];
const wait = async () => undefined;

test('a broker that has not heard of a new topic yet is asked again', async () => {
  const log = answering(missing, missing, []);
  expect(await differencesSince(log, { created: ['gc.policies'], wait })).toEqual([]);
});

test('what stays missing is told in the end, and what was not created just now at once', async () => {
  expect(await differencesSince(answering(missing), { created: ['gc.policies'], wait })).toEqual(missing);
  const other = answering(missing);
  expect(await differencesSince(other, { created: ['gc.dead-letters'], wait })).toEqual(missing);
  expect(other.asked()).toBe(1);
});
