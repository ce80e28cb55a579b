import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { recordBytes } from '../limits.ts';
import { partitionOf, TOPIC_NAMES, topicSpec } from '../partition.ts';
import type { LogPosition, LogRecord, OutgoingRecord, TopicDifference } from '../port.ts';
import { missingTopic, partitionDifference, refusal } from '../topic-differences.ts';

const RecordRow = z.object({
  offset: z.int(),
  timestamp_ms: z.int(),
  size_bytes: z.int(),
  key: z.string(),
  headers: z.string(),
  value: z.instanceof(Uint8Array).nullable(),
});
const PlacedRow = RecordRow.pick({ offset: true, timestamp_ms: true });
const Headers = z.record(z.string(), z.string());
const OneNumber = z.object({ n: z.int().nullable() }).transform((row) => row.n);

/** A row to append; `sizeBytes` is what retention counts. */
interface NewRow {
  readonly partitionId: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly sizeBytes: number;
  readonly key: string;
  readonly headers: string;
  readonly value: Buffer | null;
}

/** Which records to take: of one partition, from an offset up to (not including) another, within both limits. */
interface PageRequest {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly from: number;
  readonly before: number;
  readonly maxRecords: number;
  readonly maxBytes: number;
}

const toRecord = (page: PageRequest, row: z.infer<typeof RecordRow>): LogRecord => ({
  topic: page.topic,
  partition: page.partition,
  offset: BigInt(row.offset),
  key: row.key,
  value:
    row.value === null ? null : Buffer.from(row.value.buffer, row.value.byteOffset, row.value.byteLength),
  headers: Headers.parse(JSON.parse(row.headers)),
  timestampMs: row.timestamp_ms,
});

/** The records. Statements are prepared once; each is one short synchronous call. */
export class RecordsTable {
  readonly #partitions: PartitionsTable;
  readonly #insert: StatementSync;
  readonly #page: StatementSync;
  readonly #oldest: StatementSync;
  readonly #newest: StatementSync;
  readonly #nextAt: StatementSync;

  constructor(db: DatabaseSync, partitions: PartitionsTable) {
    this.#partitions = partitions;
    this.#insert = db.prepare(
      'INSERT INTO records (partition_id, offset, timestamp_ms, size_bytes, key, headers, value) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#page = db.prepare(
      'SELECT offset, timestamp_ms, size_bytes, key, headers, value FROM records WHERE partition_id = ? AND offset >= ? AND offset < ? ORDER BY offset LIMIT ?',
    );
    this.#oldest = db.prepare('SELECT min(offset) AS n FROM records WHERE partition_id = ?');
    this.#newest = db.prepare('SELECT max(offset) AS n FROM records WHERE partition_id = ?');
    this.#nextAt = db.prepare(
      'SELECT offset, timestamp_ms FROM records WHERE partition_id = ? AND offset >= ? ORDER BY offset LIMIT 1',
    );
  }

  /** Within a write transaction. The broker's time of a partition never goes back, whatever the clock does. */
  append(records: readonly OutgoingRecord[], nowMs: number): readonly LogPosition[] {
    return records.map((record) => {
      const partition = partitionOf(record.topic, record.key);
      const end = this.#partitions.require(record.topic, partition);
      const timestampMs = Math.max(nowMs, end.lastTimestampMs);
      this.insert({
        partitionId: end.id,
        offset: end.nextOffset,
        timestampMs,
        sizeBytes: recordBytes(record),
        key: record.key,
        headers: JSON.stringify(record.headers),
        value: record.value,
      });
      return { partition, offset: BigInt(end.nextOffset), timestampMs };
    });
  }

  insert({ partitionId, offset, timestampMs, sizeBytes, key, headers, value }: NewRow): void {
    this.#insert.run(partitionId, offset, timestampMs, sizeBytes, key, headers, value);
    this.#partitions.advance({ id: partitionId, nextOffset: offset + 1, timestampMs, sizeBytes });
  }

  page(request: PageRequest): readonly LogRecord[] {
    const records: LogRecord[] = [];
    let bytes = 0;
    for (const raw of this.#page.iterate(request.id, request.from, request.before, request.maxRecords)) {
      const row = RecordRow.parse(raw);
      records.push(toRecord(request, row));
      bytes += row.size_bytes;
      if (bytes >= request.maxBytes) break;
    }
    return records;
  }

  /** The oldest offset still kept; null when the partition holds none. */
  oldestOffset(id: number): number | null {
    return OneNumber.parse(this.#oldest.get(id));
  }

  /** The first offset at or after a time; null when there is none. Times in a partition never go back, so it is halved. */
  offsetAtTime(id: number, timestampMs: number): number | null {
    let before = (this.oldestOffset(id) ?? 0) - 1;
    let found: number | null = null;
    let last = OneNumber.parse(this.#newest.get(id)) ?? before;
    while (before < last) {
      const middle = Math.floor((before + 1 + last) / 2);
      const row = PlacedRow.parse(this.#nextAt.get(id, middle));
      if (row.timestamp_ms < timestampMs) before = row.offset;
      else {
        found = row.offset;
        last = middle - 1;
      }
    }
    return found;
  }
}

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
interface Appended {
  readonly id: number;
  readonly nextOffset: number;
  readonly timestampMs: number;
  readonly sizeBytes: number;
}

/** Topics and their partitions. Statements are prepared once; each is one short synchronous call. */
export class PartitionsTable {
  /** Of the file of this log. */
  readonly #path: string;
  readonly #ofTopic: StatementSync;
  readonly #one: StatementSync;
  readonly #count: StatementSync;
  readonly #ends: StatementSync;
  readonly #add: StatementSync;
  readonly #advance: StatementSync;

  constructor(db: DatabaseSync, path: string) {
    this.#path = path;
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
    if (row === undefined) throw refusal(missingTopic(topic, { path: this.#path }));
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
    return partitionDifference(topic, this.#countOf(topic), { path: this.#path });
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
