import type { TopicName } from '../../../../schemas/topics.ts';
import { partitionDifference, refusal } from '../differences.ts';
import type { KafkaCore } from './core.ts';
import { partitionCounts, withAdmin } from './topics.ts';

/**
 * The first publish to a topic refuses another number of partitions than declared (`TOPICS_DIFFER`) and a missing topic
 * (`TOPICS_MISSING`); later ones keep to our own number, whatever the broker has by then.
 */
export function createDeclaredCheck({
  options,
  context,
}: KafkaCore): (topics: readonly TopicName[]) => Promise<void> {
  const checked = new Set<TopicName>();

  return async (topics) => {
    const unchecked = topics.filter((topic) => !checked.has(topic));
    if (unchecked.length === 0) return;
    const counts = await withAdmin(options, context, partitionCounts);
    for (const topic of unchecked) {
      const difference = partitionDifference(topic, counts.get(topic) ?? 0);
      if (difference !== null) throw refusal(difference);
      checked.add(topic);
    }
  };
}
