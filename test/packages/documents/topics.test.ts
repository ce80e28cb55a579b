import { expect, test } from 'vitest';
import { reportTopics, topicObjects } from '../../../packages/documents/topics.ts';
import { missingTopic } from '../../../packages/log/topic-differences.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';

test.each(['', 'acme.'])('with the prefix %j topics are told as the brokers call them', (prefix) => {
  const reports = reportTopics(['gc.keys'], [missingTopic('gc.policies', { prefix })], prefix);
  const { value, lines, names } = topicObjects(reports);
  expect(names).toEqual(Object.values(TOPICS).map(({ name }) => `${prefix}${name}`));
  expect(lines.map((line) => line.trim().split(/ +/))).toEqual(
    expect.arrayContaining([
      [`${prefix}gc.policies`, 'missing'],
      [`${prefix}gc.keys`, 'created'],
    ]),
  );
  expect(value.find(({ topic }) => topic === 'gc.keys')).toEqual({
    topic: 'gc.keys',
    name: `${prefix}gc.keys`,
    created: true,
    differences: [],
  });
});
