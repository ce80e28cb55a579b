import { expect, test } from 'vitest';
import { createMissing, type TopicAdmin } from '../../../../packages/event-log/kafka/admin/create-topics.ts';
import { KafkaOptions } from '../../../../packages/event-log/kafka/client/options.ts';
import { TOPIC_NAMES } from '../../../../packages/event-log/partition.ts';

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
