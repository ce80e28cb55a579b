import { expect, test } from 'vitest';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { findDifferences, topicConfig } from '../../../../packages/log/kafka/topics.ts';
import { TOPIC_NAMES, topicSpec } from '../../../../packages/log/partition.ts';
import { differenceSentences } from '../../../../packages/log/topic-differences.ts';
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
function clusterWith(copiesOfFirst: number, copies: number, brokers = 3) {
  const replicas = (number: number) => Array.from({ length: number }, (_, broker) => broker);
  const partitionsOf = (topic: TopicName) =>
    Array.from({ length: topicSpec(topic).partitions }, (_, partition) => ({
      leader: 0,
      replicas: replicas(partition === 0 ? copiesOfFirst : copies),
    }));
  return {
    describeCluster: async () => ({
      brokers: Array.from({ length: brokers }, (_, broker) => ({ host: `kafka-${broker}`, port: 9092 })),
    }),
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

const emptyCluster = (names: readonly string[]) => ({
  ...clusterWith(2, 2),
  listTopics: async () => names,
});

test('without a prefix missing topics name the prefixes that are there, and with one they name none', async () => {
  const names = ['acme.gc.policies', 'acme.gc.keys', 'b_gc.keys', 'xgc.keys', 'other'];
  const [first] = await findDifferences(emptyCluster(names), optionsOf(2, 1));
  expect(first?.message).toContain(
    ' is missing. Topics with the prefix acme., b_ are there: is --kafka-prefix missing? If not, create it with: fleetgc topics create. ',
  );
  const [alone] = await findDifferences(emptyCluster(['other']), optionsOf(2, 1));
  expect(alone?.message).toContain(' is missing: create it with: fleetgc topics create. ');
  const prefixed = { ...optionsOf(2, 1), prefix: 'c.' };
  const [other] = await findDifferences(emptyCluster(names), prefixed);
  expect(other?.message).toContain(' is missing: create it with: fleetgc topics create --kafka-prefix c.');
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

test('with a single broker one copy is all there can be, which is one sentence for all topics, and no setting that follows from it differs', async () => {
  const differences = await findDifferences(clusterWith(1, 1, 1), optionsOf(3, 2));
  expect(new Set(differences.map(({ kind }) => kind))).toEqual(new Set(['only-copy']));
  const sentences = differenceSentences(differences);
  expect(sentences).toEqual([
    expect.stringMatching(/single broker.*1 copy.*Production needs 3 brokers.*--kafka-replication-factor 1/),
  ]);
  expect(sentences[0]).not.toMatch(/gc\./);
});

test('a single broker that must have two acknowledgements takes no record, which is told beside the copies', async () => {
  const cluster = clusterWith(1, 1, 1);
  const stuck = {
    ...cluster,
    describeConfigs: async () => ({
      resources: TOPIC_NAMES.map((topic) => ({
        resourceName: topic,
        configEntries: Object.entries(topicConfig(topic, optionsOf(3, 2))).map(
          ([configName, configValue]) => ({ configName, configValue }),
        ),
      })),
    }),
  };
  expect(await findDifferences(stuck, optionsOf(3, 2))).toContainEqual(
    expect.objectContaining({ topic: 'gc.policies', kind: 'config', found: 'min.insync.replicas=2' }),
  );
});

test('settings that are given replace those of FleetGC, of one topic before all, and an empty one is left out', () => {
  const options = KafkaOptions.parse({
    ...optionsOf(3, 2),
    topicConfig: [
      { topic: null, name: 'segment.ms', value: '14400000' },
      { topic: 'gc.keys', name: 'segment.ms', value: '' },
      { topic: null, name: 'cleanup.policy', value: '' },
    ],
  });
  expect(topicConfig('gc.policies', options)).toMatchObject({ 'segment.ms': '14400000' });
  expect(topicConfig('gc.keys', options)).not.toHaveProperty('segment.ms');
  expect(topicConfig('gc.node.inventory', options)).not.toHaveProperty('segment.ms');
  expect(topicConfig('gc.policies', options)).not.toHaveProperty(['cleanup.policy']);
});

test('what FleetGC needs is compared also where it was left to the broker, and may not be changed', async () => {
  const leftOut = { ...optionsOf(2, 1), topicConfig: [{ topic: null, name: 'compression.type', value: '' }] };
  const cluster = clusterWith(2, 2);
  const compressing = {
    ...cluster,
    describeConfigs: async () => ({
      resources: (await cluster.describeConfigs()).resources.map((resource) => ({
        ...resource,
        configEntries: resource.configEntries.map((entry) =>
          entry.configName === 'compression.type' ? { ...entry, configValue: 'lz4' } : entry,
        ),
      })),
    }),
  };
  expect(await findDifferences(compressing, KafkaOptions.parse(leftOut))).toContainEqual(
    expect.objectContaining({
      topic: 'gc.policies',
      found: 'compression.type=lz4',
      message: expect.stringMatching(/compression\.type=lz4.*zstd and gzip alone.*producer/),
    }),
  );
  const changed = [{ topic: null, name: 'message.timestamp.type', value: '1' }];
  expect(KafkaOptions.safeParse({ ...optionsOf(2, 1), topicConfig: changed }).success).toBe(false);
});

/** All as declared, but for one setting of one topic. */
function clusterWhere(topic: TopicName, name: string, value: string) {
  const cluster = clusterWith(2, 2);
  return {
    ...cluster,
    describeConfigs: async () => ({
      resources: (await cluster.describeConfigs()).resources.map((resource) => ({
        ...resource,
        configEntries: resource.configEntries.map((entry) =>
          resource.resourceName === topic && entry.configName === name
            ? { ...entry, configValue: value }
            : entry,
        ),
      })),
    }),
  };
}

const LASTING = TOPIC_NAMES.filter((topic) => topicSpec(topic).retentionMs === 'forever');

test.each(
  LASTING.flatMap((topic) => [
    { topic, name: 'retention.ms', value: '604800000' },
    { topic, name: 'retention.bytes', value: '1073741824' },
    { topic, name: 'cleanup.policy', value: 'compact,delete' },
  ]),
)(
  '$topic with $name=$value is an error and no question, and no option hides it',
  async ({ topic, name, value }) => {
    const given = name === 'cleanup.policy' ? '' : value;
    const options = KafkaOptions.parse({
      ...optionsOf(2, 1),
      topicConfig: [{ topic: null, name, value: given }],
    });
    const differences = await findDifferences(clusterWhere(topic, name, value), options);
    const ofTopic = differences.filter((difference) => difference.topic === topic);
    expect(ofTopic).toEqual([
      expect.objectContaining({
        kind: 'keeps-less',
        message: expect.stringMatching(/must be kept for ever.* Set .* with the broker's tools now/),
      }),
    ]);
    expect(ofTopic[0]?.message).not.toMatch(/if it was not meant so/);
  },
);

test('a retention that is given for all topics shortens none that is kept for ever, and none is named by it', () => {
  const setting = { name: 'retention.ms', value: '604800000' };
  const options = KafkaOptions.parse({ ...optionsOf(2, 1), topicConfig: [{ topic: null, ...setting }] });
  for (const topic of LASTING) {
    expect(topicConfig(topic, options)).toMatchObject({ 'retention.ms': '-1' });
    const named = { ...optionsOf(2, 1), topicConfig: [{ topic, ...setting }] };
    expect(KafkaOptions.safeParse(named).success).toBe(false);
  }
  expect(topicConfig('gc.node.results', options)).toMatchObject({ 'retention.ms': '604800000' });
});
