import { expect, test } from 'vitest';
import { findDifferences, topicConfig } from '../../../../packages/event-log/kafka/admin/compare-topics.ts';
import { KafkaOptions } from '../../../../packages/event-log/kafka/client/options.ts';
import { TOPIC_NAMES, topicSpec } from '../../../../packages/event-log/partition.ts';
import type { TopicName } from '../../../../schemas/events/topics.ts';

const optionsOf = (replicationFactor: number, minInsyncReplicas: number) =>
  KafkaOptions.parse({
    kind: 'kafka',
    brokers: ['kafka:9092'],
    clientId: 'test',
    replicationFactor,
    minInsyncReplicas,
  });

/** All topics as declared, with one copy of the first partition of each, and as many as asked of the others. */
function clusterWith(copiesOfFirst: number, copies: number) {
  const replicas = (number: number) => Array.from({ length: number }, (_, broker) => broker);
  const partitionsOf = (topic: TopicName) =>
    Array.from({ length: topicSpec(topic).partitions }, (_, partition) => ({
      leader: 0,
      replicas: replicas(partition === 0 ? copiesOfFirst : copies),
    }));
  return {
    listTopics: async () => TOPIC_NAMES,
    fetchTopicMetadata: async () => ({
      topics: TOPIC_NAMES.map((name) => ({ name, partitions: partitionsOf(name) })),
    }),
    describeConfigs: async () => ({
      resources: TOPIC_NAMES.map((topic) => ({
        resourceName: topic,
        configEntries: Object.entries(topicConfig(topic, optionsOf(copies, 1))).map(
          ([configName, configValue]) => ({ configName, configValue }),
        ),
      })),
    }),
  };
}

test('topics with as many copies as are asked for are as declared', async () => {
  expect(await findDifferences(clusterWith(2, 2), optionsOf(2, 1))).toEqual([]);
});

test.each([
  { name: 'all partitions have fewer copies', cluster: clusterWith(1, 1) },
  { name: 'one partition has fewer copies', cluster: clusterWith(1, 2) },
])('$name than are asked for: every topic differs', async ({ cluster }) => {
  const differences = await findDifferences(cluster, optionsOf(2, 1));
  expect(differences.map(({ topic }) => topic)).toEqual(TOPIC_NAMES);
  expect(differences[0]).toMatchObject({
    kind: 'config',
    expected: '2 copies',
    found: '1 copy',
    message: expect.stringMatching(
      / has 1 copy of each record, but 2 are expected\. .*--kafka-replication-factor/,
    ),
  });
});
