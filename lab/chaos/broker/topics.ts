import { type Admin, Kafka } from 'kafkajs';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { kafkaSettings } from '../../../test/support/kafka/kafka-answer.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

const GONE_MS = 20_000;

/** A group without members forgets how far it was. */
export const forgetOffsets = (address: string, group: string): Promise<void> =>
  asAdmin(address, async (admin) => {
    await waitUntil(`the group ${group} to be forgotten`, GONE_MS, async () => {
      const { groups } = await admin.listGroups();
      if (groups.every(({ groupId }) => groupId !== group)) return true;
      await admin.deleteGroups([group]);
      return true;
    });
  });

/** Whatever was on these topics is gone, and what groups had read of it. */
export const deleteTopics = (address: string, names: readonly string[] = TOPIC_NAMES): Promise<void> =>
  asAdmin(address, async (admin) => {
    const there = new Set(await admin.listTopics());
    const topics = names.filter((name) => there.has(name));
    if (topics.length === 0) return;
    await admin.deleteTopics({ topics });
    await waitUntil(`${topics.join(', ')} to be gone`, GONE_MS, async () => {
      const left = await admin.listTopics();
      return !left.some((name) => topics.includes(name));
    });
  });

async function asAdmin(address: string, act: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = new Kafka({ ...kafkaSettings({ address }), clientId: 'chaos' }).admin();
  await admin.connect();
  try {
    await act(admin);
  } finally {
    await admin.disconnect();
  }
}
