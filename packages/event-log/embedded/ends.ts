import type { TopicName } from '../../../schemas/events/topics.ts';
import { recreatedTopic } from '../topic-differences.ts';
import type { Changes } from './changes.ts';
import type { Database } from './database.ts';

/** The end of every partition, by its id. */
export type PartitionEnds = ReadonlyMap<number, number>;

/** The end of a partition of which offsets up to `next` were read. Throws `TOPICS_RECREATED` when it is not that partition. */
export function endFor(
  ends: PartitionEnds,
  { id, topic, next }: { readonly id: number; readonly topic: TopicName; readonly next: number },
): number {
  const end = ends.get(id);
  if (end === undefined || end < next) throw recreatedTopic(topic);
  return end;
}

export interface Ends {
  /** As of now; read once per change of the log, however many ask. */
  current(): Promise<PartitionEnds>;
}

export function watchEnds(database: Database, changes: Changes): Ends {
  let readAt = -1;
  let known: Promise<PartitionEnds> = Promise.resolve(new Map());
  return {
    current: () => {
      const version = changes.version();
      if (version !== readAt) known = database.read((statements) => statements.ends());
      readAt = version;
      return known;
    },
  };
}
