import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { TOPIC_NAMES, topicSpec } from '../partition.ts';
import type { TopicDifference } from '../port.ts';
import { embeddedCreation, missingTopic, partitionDifference, refusal } from '../topic-differences.ts';

const PartitionRow = z
  .object({ id: z.int(), partition: z.int(), next_offset: z.int(), last_timestamp_ms: z.int() })
  .transform((row) => ({
    id: row.id,
    partition: row.partition,
    nextOffset: row.next_offset,
    lastTimestampMs: row.last_timestamp_ms,
  }));
/** A partition and its end. */
export type PartitionEnd = z.infer<typeof PartitionRow>;

const EndRows = z.array(z.tuple([z.int(), z.int()]));
const Count = z.object({ n: z.int() }).transform((row) => row.n);

/** What a record that is appended changes of its partition. */
export interface Appended {
  readonly id: number;
  readonly nextOffset: number;
  readonly timestampMs: number;
  readonly sizeBytes: number;
}

/** Topics and their partitions. Statements are prepared once; each is one short synchronous call. */
export class PartitionsTable {
  /** The command that creates the topics of this log. */
  readonly #creation: string;
  readonly #ofTopic: StatementSync;
  readonly #one: StatementSync;
  readonly #count: StatementSync;
  readonly #ends: StatementSync;
  readonly #add: StatementSync;
  readonly #advance: StatementSync;

  constructor(db: DatabaseSync, path: string) {
    this.#creation = embeddedCreation(path);
    this.#ofTopic = db.prepare('SELECT * FROM partitions WHERE topic = ? ORDER BY partition');
    this.#one = db.prepare('SELECT * FROM partitions WHERE topic = ? AND partition = ?');
    this.#count = db.prepare('SELECT count(*) AS n FROM partitions WHERE topic = ?');
    this.#ends = db.prepare('SELECT id, next_offset FROM partitions');
    this.#ends.setReturnArrays(true);
    this.#add = db.prepare('INSERT INTO partitions (topic, partition) VALUES (?, ?)');
    this.#advance = db.prepare(
      'UPDATE partitions SET next_offset = ?, last_timestamp_ms = ?, kept_bytes = kept_bytes + ? WHERE id = ?',
    );
  }

  ofTopic(topic: TopicName): readonly PartitionEnd[] {
    return this.#ofTopic.all(topic).map((row) => PartitionRow.parse(row));
  }

  /** Throws `TOPICS_MISSING`. */
  require(topic: TopicName, partition: number): PartitionEnd {
    const row = this.#one.get(topic, partition);
    if (row === undefined) throw refusal(missingTopic(topic, this.#creation));
    return PartitionRow.parse(row);
  }

  /** The end of each partition, by its id. */
  ends(): ReadonlyMap<number, number> {
    return new Map(EndRows.parse(this.#ends.all()));
  }

  advance({ id, nextOffset, timestampMs, sizeBytes }: Appended): void {
    this.#advance.run(nextOffset, timestampMs, sizeBytes, id);
  }

  /** What differs from the declared number of partitions; null when nothing does. */
  difference(topic: TopicName): TopicDifference | null {
    return partitionDifference(topic, this.#countOf(topic), this.#creation);
  }

  /** Throws `TOPICS_MISSING`, and `TOPICS_DIFFER` for another number of partitions than declared. */
  requireDeclared(topic: TopicName): void {
    const difference = this.difference(topic);
    if (difference !== null) throw refusal(difference);
  }

  /** Returns the topics that it created. */
  createMissing(): TopicName[] {
    const missing = TOPIC_NAMES.filter((topic) => this.#countOf(topic) === 0);
    for (const topic of missing) {
      const { partitions } = topicSpec(topic);
      for (let number = 0; number < partitions; number += 1) this.#add.run(topic, number);
    }
    return missing;
  }

  #countOf(topic: TopicName): number {
    return Count.parse(this.#count.get(topic));
  }
}
