import { expect, test } from 'vitest';
import type { TopicDifference } from '../../../packages/log/port.ts';
import {
  differenceSentences,
  missingTopic,
  partitionDifference,
  recreatedTopic,
  requireReadable,
} from '../../../packages/log/topic-differences.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';

const differs = (topic: TopicDifference['topic'], message: string): TopicDifference => ({
  topic,
  name: topic,
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

test('a topic that is missing in Kafka names the options that a managed Kafka needs, and one of a file does not', () => {
  expect(missingTopic('gc.policies', {}).message).toBe(
    'Topic gc.policies is missing: create it with: fleetgc topics create. Where a managed Kafka refuses a setting or a number of copies, add --kafka-topic-config and --kafka-replication-factor to it',
  );
  expect(missingTopic('gc.policies', { path: '/x.db' }).message).toBe(
    'Topic gc.policies is missing: create it with: fleetgc topics create --log embedded --log-path /x.db',
  );
});

test('with a prefix it is named as the brokers call it, and so is the command that creates it', () => {
  const place = { prefix: 'acme.' };
  expect(missingTopic('gc.policies', place)).toMatchObject({
    topic: 'gc.policies',
    name: 'acme.gc.policies',
    message: expect.stringMatching(
      /^Topic acme\.gc\.policies is missing: create it with: fleetgc topics create --kafka-prefix acme\.\. /,
    ),
  });
  expect(partitionDifference('gc.policies', 3, place)?.message).toMatch(/^Topic acme\.gc\.policies has 3 /);
  expect(recreatedTopic('gc.policies', place).message).toMatch(/^Topic acme\.gc\.policies was deleted/);
  const differing = (['gc.policies', 'gc.keys', 'gc.heads'] as const).map((topic) => {
    const name = `acme.${topic}`;
    return { ...differs(topic, `Topic ${name} has one copy.`), name };
  });
  expect(differenceSentences(differing)).toEqual([
    'Topic acme.gc.policies has one copy. The same holds for acme.gc.keys, acme.gc.heads.',
  ]);
});

const compressing = (topic: TopicDifference['topic'], type: string) => ({
  checkTopics: async (): Promise<readonly TopicDifference[]> => [
    {
      topic,
      name: topic,
      kind: 'config',
      expected: 'compression.type=producer',
      found: `compression.type=${type}`,
      message: `Topic ${topic} has compression.type=${type}.`,
    },
  ],
});

test.each(['lz4', 'snappy'])(
  'nothing is written to a topic whose broker compresses with %s',
  async (type) => {
    const written = requireReadable(compressing('gc.policies', type), new Set(['gc.policies'] as const));
    await expect(written).rejects.toMatchObject({ code: 'TOPICS_DIFFER' });
    await expect(written).rejects.toThrow(
      `Nothing was written:\n  Topic gc.policies has compression.type=${type}`,
    );
  },
);

test.each([
  ['another topic', compressing('gc.heads', 'lz4')],
  ['zstd', compressing('gc.policies', 'zstd')],
  ['gzip', compressing('gc.policies', 'gzip')],
  ['uncompressed', compressing('gc.policies', 'uncompressed')],
  [
    'settings that may not be asked for',
    { checkTopics: () => Promise.reject(new FleetGcError('LOG_UNAUTHORIZED', 'no')) },
  ],
])('%s keeps nobody from writing', async (_, log) => {
  await expect(requireReadable(log, new Set(['gc.policies'] as const))).resolves.toBeUndefined();
});
