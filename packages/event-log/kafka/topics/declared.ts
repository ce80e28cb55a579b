import type { TopicName } from '../../../../schemas/events/topics.ts';
import { TOPIC_NAMES } from '../../partition.ts';
import { partitionDifference, refusal } from '../../topic-differences.ts';
import type { KafkaCore } from '../client/core.ts';
import { partitionCounts, withAdmin } from './topics.ts';

/**
 * The first publish to a topic refuses another number of partitions than declared (`TOPICS_DIFFER`) and a missing topic
 * (`TOPICS_MISSING`); later ones keep to our own number, whatever the broker has by then. Asking takes connections of its own, so one
 * answer serves all that wait for it, and all topics that it finds right.
 */
export function createDeclaredCheck({
  options,
  context,
  noteTopic,
}: KafkaCore): (topics: readonly TopicName[]) => Promise<void> {
  const checked = new Set<TopicName>();
  let asking: Promise<Differences> | null = null;

  const ask = async (): Promise<Differences> => {
    const counts = await withAdmin(options, context, (admin, inTime) => inTime(partitionCounts(admin)));
    const found = TOPIC_NAMES.map(
      (topic) => [topic, partitionDifference(topic, counts.get(topic) ?? 0)] as const,
    );
    for (const [topic, difference] of found) {
      noteTopic(topic, difference?.kind === 'partitions' ? difference.message : null);
      if (difference === null) checked.add(topic);
    }
    return new Map(found);
  };

  return async (topics) => {
    const unchecked = topics.filter((topic) => !checked.has(topic));
    if (unchecked.length === 0) return;
    asking ??= ask().finally(() => {
      asking = null;
    });
    const differences = await asking;
    for (const topic of unchecked) {
      const difference = differences.get(topic) ?? null;
      if (difference !== null) throw refusal(difference);
    }
  };
}

type Differences = ReadonlyMap<TopicName, ReturnType<typeof partitionDifference>>;
