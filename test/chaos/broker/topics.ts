import { Kafka } from 'kafkajs';
import { TOPIC_NAMES } from '../../../services/shared/event-log/partition.ts';
import { kafkaSettings } from '../../support/kafka-answer.ts';
import { waitUntil } from '../../support/wait-until.ts';

const GONE_MS = 20_000;

/** Whatever was on these topics is gone, and what groups had read of it. */
export async function deleteTopics(address: string, names: readonly string[] = TOPIC_NAMES): Promise<void> {
  const admin = new Kafka({ ...kafkaSettings({ address }), clientId: 'chaos' }).admin();
  await admin.connect();
  try {
    const there = new Set(await admin.listTopics());
    const topics = names.filter((name) => there.has(name));
    if (topics.length === 0) return;
    await admin.deleteTopics({ topics });
    await waitUntil(`${topics.join(', ')} to be gone`, GONE_MS, async () => {
      const left = await admin.listTopics();
      return !left.some((name) => topics.includes(name));
    });
  } finally {
    await admin.disconnect();
  }
}
