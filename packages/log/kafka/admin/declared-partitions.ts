import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { pause } from '../../../process/backoff.ts';
import { TOPIC_NAMES } from '../../partition.ts';
import type { TopicDifference } from '../../port.ts';
import { partitionDifference, refusal } from '../../topic-differences.ts';
import { type Admin, withAdmin } from '../client/admin.ts';
import type { Cluster } from '../client/cluster.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';

export interface TopicShape {
  readonly partitions: number;
  /** Of the partition that has the fewest. */
  readonly copies: number;
}

/** Of each of our topics that exists. */
export async function topicShapes(
  admin: Pick<Admin, 'listTopics' | 'fetchTopicMetadata'>,
): Promise<ReadonlyMap<string, TopicShape>> {
  const ours: readonly string[] = TOPIC_NAMES;
  const existing = (await admin.listTopics()).filter((name) => ours.includes(name));
  if (existing.length === 0) return new Map();
  const { topics } = await admin.fetchTopicMetadata({ topics: existing });
  return new Map(
    topics.map(({ name, partitions }) => [
      name,
      {
        partitions: partitions.length,
        copies: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      },
    ]),
  );
}

/** What differs, by topic; null where nothing does. */
type Differences = ReadonlyMap<TopicName, TopicDifference | null>;

/**
 * The first publish to a topic refuses another number of partitions than declared (`TOPICS_DIFFER`) and a missing topic
 * (`TOPICS_MISSING`); later ones keep to our own number, whatever the broker has by then. Asking takes connections of its own, so one
 * answer serves all that wait for it, and all topics that it finds right.
 */
export class DeclaredCheck {
  readonly #connection: KafkaConnection;
  readonly #checked = new Set<TopicName>();
  #asking: Promise<Differences> | null = null;

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
  }

  async require(topics: ReadonlySet<TopicName>): Promise<void> {
    const unchecked = [...topics].filter((topic) => !this.#checked.has(topic));
    if (unchecked.length === 0) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    const differences = await this.#asking;
    for (const topic of unchecked) {
      const difference = differences.get(topic) ?? null;
      if (difference !== null) throw refusal(difference);
    }
  }

  async #ask(): Promise<Differences> {
    const { options, context } = this.#connection;
    const shapes = await withAdmin(options, context, (admin, inTime) => inTime(topicShapes(admin)));
    const differences = new Map(
      TOPIC_NAMES.map((topic) => [topic, partitionDifference(topic, shapes.get(topic)?.partitions ?? 0)]),
    );
    for (const [topic, difference] of differences) {
      this.#connection.noteTopic(topic, difference?.kind === 'partitions' ? difference.message : null);
      if (difference === null) this.#checked.add(topic);
    }
    return differences;
  }
}

/** How soon somebody is told of partitions that were added behind our back, and stands still: about as long as a command lives. */
const LOOK_EVERY_MS = 60_000;

interface WatchedPartitions {
  readonly cluster: Pick<Cluster, 'refreshMetadata' | 'findTopicPartitionMetadata'>;
  readonly topics: readonly TopicName[];
  readonly random: () => number;
  readonly wait: typeof pause;
  /** A sentence for people; `null` when nothing differs. */
  readonly report: (topic: TopicName, problem: string | null) => void;
}

/** Tells of partitions that were added or taken away, until `over` aborts. Those that are read stay the declared ones. */
export async function watchPartitions(
  { cluster, topics, random, wait, report }: WatchedPartitions,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    await wait(LOOK_EVERY_MS * (0.5 + random()), over);
    if (over.aborted) return;
    // A broker that is away is the fetcher's to tell; what was known before is looked at once more.
    await cluster.refreshMetadata().catch(() => undefined);
    if (over.aborted) return;
    for (const topic of topics)
      report(
        topic,
        partitionDifference(topic, cluster.findTopicPartitionMetadata(topic).length)?.message ?? null,
      );
  }
}
