import type { Cluster } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { pause } from '../../../process/back-off.ts';
import { partitionDifference } from '../../topic-differences.ts';

/** How soon somebody is told of partitions that were added behind our back, and stands still: about as long as a command lives. */
const LOOK_EVERY_MS = 60_000;

interface WatchedPartitions {
  readonly cluster: Pick<Cluster, 'refreshMetadata' | 'findTopicPartitionMetadata'>;
  readonly topics: readonly TopicName[];
  readonly random: () => number;
  readonly wait: typeof pause;
  /** A sentence for people; `null` when nothing differs. */
  readonly tell: (topic: TopicName, problem: string | null) => void;
}

/** Tells of partitions that were added or taken away, until `over` aborts. Those that are read stay the declared ones. */
export async function watchPartitions(
  { cluster, topics, random, wait, tell }: WatchedPartitions,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    await wait(LOOK_EVERY_MS * (0.5 + random()), over);
    if (over.aborted) return;
    // A broker that is away is the fetcher's to tell; what was known before is looked at once more.
    await cluster.refreshMetadata().catch(() => undefined);
    if (over.aborted) return;
    for (const topic of topics)
      tell(
        topic,
        partitionDifference(topic, cluster.findTopicPartitionMetadata(topic).length)?.message ?? null,
      );
  }
}
