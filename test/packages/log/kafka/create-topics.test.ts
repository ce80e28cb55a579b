import { expect, test } from 'vitest';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { createMissing, type TopicAdmin } from '../../../../packages/log/kafka/topics.ts';
import { TOPIC_NAMES } from '../../../../packages/log/partition.ts';

const options = KafkaOptions.parse({ kind: 'kafka', brokers: ['kafka:9092'], clientId: 'test' });
const kafkaError = (type: string) => Object.assign(new Error(type), { name: 'KafkaJSProtocolError', type });

/** A cluster without topics; once they are created it is asked for them, and answers in this order, the last for ever. */
function emptyCluster(answers: readonly (Error | { readonly leader: number })[]) {
  const asked = { created: 0, looks: 0 };
  const admin: TopicAdmin = {
    listTopics: async () => [],
    describeCluster: async () => ({
      brokers: [{ nodeId: 1, host: 'kafka', port: 9092 }],
      controller: 1,
      clusterId: 'test',
    }),
    createTopics: async () => {
      asked.created += 1;
      return true;
    },
    fetchTopicMetadata: async () => {
      const answer = answers[Math.min(asked.looks, answers.length - 1)];
      asked.looks += 1;
      if (answer instanceof Error) throw answer;
      const partition = { partitionErrorCode: 0, partitionId: 0, replicas: [1], isr: [1], leader: -1 };
      return { topics: TOPIC_NAMES.map((name) => ({ name, partitions: [{ ...partition, ...answer }] })) };
    },
  };
  return { admin, asked };
}

test.each([
  { name: 'has not heard of them yet', first: kafkaError('UNKNOWN_TOPIC_OR_PARTITION') },
  { name: 'chooses leaders still', first: kafkaError('LEADER_NOT_AVAILABLE') },
  { name: 'tells of them without a leader', first: { leader: -1 } },
])('new topics are waited for while the broker that is asked $name', async ({ first }) => {
  const { admin, asked } = emptyCluster([first, first, { leader: 1 }]);
  expect(await createMissing(admin, options)).toEqual(TOPIC_NAMES);
  expect(asked).toEqual({ created: 1, looks: 3 });
});

test('another failure after the creation is told at once', async () => {
  const refused = kafkaError('TOPIC_AUTHORIZATION_FAILED');
  const { admin, asked } = emptyCluster([refused]);
  await expect(createMissing(admin, options)).rejects.toBe(refused);
  expect(asked.looks).toBe(1);
});

test('too few brokers for the copies are told with both numbers, and what to say', async () => {
  const { admin } = emptyCluster([{ leader: 1 }]);
  const few: TopicAdmin = {
    ...admin,
    createTopics: async () => {
      throw kafkaError('INVALID_REPLICATION_FACTOR');
    },
  };
  await expect(createMissing(few, options)).rejects.toMatchObject({
    code: 'TOPICS_MISSING',
    message: expect.stringMatching(/^Kafka has 1 broker, and 3 copies .* --kafka-replication-factor 1, /),
  });
});

const refusing = (type: string, brokerMessage: string | null, topic = 'gc.policies'): TopicAdmin => ({
  ...emptyCluster([{ leader: 1 }]).admin,
  createTopics: async () => {
    const error = Object.assign(kafkaError(type), { topic, brokerMessage });
    throw Object.assign(new Error('Topic creation errors'), {
      name: 'KafkaJSAggregateError',
      errors: [error],
    });
  },
});

test.each([
  ['POLICY_VIOLATION', 'segment.ms must be at least 14400000', /segment\.ms=3600000\./],
  ['POLICY_VIOLATION', 'retention.ms may not be -1.', /retention\.ms=-1\./],
  ['INVALID_CONFIG', 'Invalid value for max.message.bytes', /max\.message\.bytes=\d+\./],
  ['INVALID_PARTITIONS', 'too many partitions', /partitions\./],
  ['POLICY_VIOLATION', null, /cleanup\.policy=compact.*partitions\./],
])('%s is told with topic, setting and what to do: %s', async (type, said, asked) => {
  const refused = createMissing(refusing(type, said), options);
  await expect(refused).rejects.toMatchObject({ code: 'TOPICS_DIFFER' });
  await expect(refused).rejects.toThrow(new RegExp(`gc\\.policies: ${type}`));
  await expect(refused).rejects.toThrow(asked);
  await expect(refused).rejects.toThrow(/--kafka-topic-config NAME=VALUE/);
  await expect(refused).rejects.not.toThrow(/brokers run|address and port/);
  if (said !== null) await expect(refused).rejects.toThrow(said.replace(/\.$/, ''));
});

test('an error that is not about the topic itself is passed on', async () => {
  await expect(createMissing(refusing('NOT_CONTROLLER', null), options)).rejects.toThrow(
    'Topic creation errors',
  );
});
