import { Kafka } from 'kafkajs';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { type ClientSettings, kafkaSettings } from '../../support/kafka/kafka-answer.ts';

/** Gives a topic more partitions, as an operator might who knows no better. */
export const addPartitions =
  (settings: ClientSettings, prefix = '') =>
  async (topic: TopicName, count: number) => {
    const admin = new Kafka(kafkaSettings(settings)).admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: `${prefix}${topic}`, count }] });
    await admin.disconnect();
  };
