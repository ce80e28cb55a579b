import { Kafka } from 'kafkajs';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { type ClientSettings, kafkaSettings } from '../../support/kafka/kafka-answer.ts';
import { until } from './probe.ts';

/** Deletes a topic, and waits until the broker is done with it. */
export const deleteTopic =
  (settings: ClientSettings, prefix = '') =>
  async (logical: TopicName) => {
    const topic = `${prefix}${logical}`;
    const admin = new Kafka(kafkaSettings(settings)).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [topic] });
    await until('the topic to be gone', async () => !(await admin.listTopics()).includes(topic));
    await admin.disconnect();
  };
