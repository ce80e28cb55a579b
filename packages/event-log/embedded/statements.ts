import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { TOPIC_NAMES } from '../partition.ts';
import type { LogRecord } from '../port.ts';
import { embeddedCreation } from '../topic-differences.ts';

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
const Count = z.object({ n: z.int() }).transform((row) => row.n);
const OneNumber = z.object({ n: z.int().nullable() }).transform((row) => row.n);
const LeaseRow = z
  .object({ member: z.string(), expires_at_ms: z.int() })
  .transform((row) => ({ member: row.member, expiresAtMs: row.expires_at_ms }));
export type Lease = z.infer<typeof LeaseRow>;
const CommittedRow = z
  .object({ id: z.int(), topic: z.enum(TOPIC_NAMES), partition: z.int(), end: z.int(), committed: z.int() })
  .transform(({ end, ...row }) => ({ ...row, nextOffset: end }));
/** A partition, its end, and the place that a group committed. */
export type CommittedPlace = z.infer<typeof CommittedRow>;

/** A row to append; `sizeBytes` is what retention counts. */
export interface NewRow {
  readonly partitionId: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly sizeBytes: number;
  readonly key: string;
  readonly headers: string;
  readonly value: Buffer | null;
}

/** Which records to take: of one partition, from an offset up to (not including) another, within both limits. */
export interface PageRequest {
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

/** The statements about records and partitions, prepared once. Each is one short synchronous call. */
export function prepareRecords(db: DatabaseSync) {
  const partitions = db.prepare('SELECT * FROM partitions WHERE topic = ? ORDER BY partition');
  const partition = db.prepare('SELECT * FROM partitions WHERE topic = ? AND partition = ?');
  const partitionCount = db.prepare('SELECT count(*) AS n FROM partitions WHERE topic = ?');
  const ends = db.prepare('SELECT id, next_offset FROM partitions');
  ends.setReturnArrays(true);
  const addPartition = db.prepare('INSERT INTO partitions (topic, partition) VALUES (?, ?)');
  const insert = db.prepare(
    'INSERT INTO records (partition_id, offset, timestamp_ms, size_bytes, key, headers, value) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const advance = db.prepare(
    'UPDATE partitions SET next_offset = ?, last_timestamp_ms = ?, kept_bytes = kept_bytes + ? WHERE id = ?',
  );
  const page = db.prepare(
    'SELECT offset, timestamp_ms, size_bytes, key, headers, value FROM records WHERE partition_id = ? AND offset >= ? AND offset < ? ORDER BY offset LIMIT ?',
  );
  const oldest = db.prepare('SELECT min(offset) AS n FROM records WHERE partition_id = ?');
  const nextAt = db.prepare(
    'SELECT offset, timestamp_ms FROM records WHERE partition_id = ? AND offset >= ? ORDER BY offset LIMIT 1',
  );
  const newest = db.prepare('SELECT max(offset) AS n FROM records WHERE partition_id = ?');

  return {
    partitions: (topic: TopicName): PartitionEnd[] =>
      partitions.all(topic).map((row) => PartitionRow.parse(row)),
    partition(topic: TopicName, number: number): PartitionEnd | null {
      const row = partition.get(topic, number);
      return row === undefined ? null : PartitionRow.parse(row);
    },
    countPartitions: (topic: TopicName): number => Count.parse(partitionCount.get(topic)),
    /** The end of each partition, by its id. */
    ends: (): Map<number, number> => new Map(EndRows.parse(ends.all())),
    addPartition: (topic: TopicName, partition: number): void => void addPartition.run(topic, partition),
    insert(row: NewRow): void {
      insert.run(
        row.partitionId,
        row.offset,
        row.timestampMs,
        row.sizeBytes,
        row.key,
        row.headers,
        row.value,
      );
      advance.run(row.offset + 1, row.timestampMs, row.sizeBytes, row.partitionId);
    },
    page(request: PageRequest): LogRecord[] {
      const records: LogRecord[] = [];
      let bytes = 0;
      for (const raw of page.iterate(request.id, request.from, request.before, request.maxRecords)) {
        const row = RecordRow.parse(raw);
        records.push(toRecord(request, row));
        bytes += row.size_bytes;
        if (bytes >= request.maxBytes) break;
      }
      return records;
    },
    /** The oldest offset still kept; null when the partition holds none. */
    oldestOffset: (id: number): number | null => OneNumber.parse(oldest.get(id)),
    /** The first offset at or after a time; null when there is none. Times in a partition never go back, so it is halved. */
    offsetAtTime: (id: number, timestampMs: number): number | null => {
      let before = (OneNumber.parse(oldest.get(id)) ?? 0) - 1;
      let found: number | null = null;
      let last = OneNumber.parse(newest.get(id)) ?? before;
      while (before < last) {
        const middle = Math.floor((before + 1 + last) / 2);
        const row = PlacedRow.parse(nextAt.get(id, middle));
        if (row.timestamp_ms < timestampMs) before = row.offset;
        else {
          found = row.offset;
          last = middle - 1;
        }
      }
      return found;
    },
  };
}

/** The statements about groups: committed offsets and the lease. */
export function prepareGroups(db: DatabaseSync) {
  const committed = db.prepare(
    'SELECT next_offset AS n FROM offsets WHERE group_name = ? AND partition_id = ?',
  );
  const commit = db.prepare(
    'INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset',
  );
  const committedBy = db.prepare(
    'SELECT p.id, p.topic, p.partition, p.next_offset AS "end", o.next_offset AS committed FROM offsets o JOIN partitions p ON p.id = o.partition_id WHERE o.group_name = ? ORDER BY p.topic, p.partition',
  );
  const lease = db.prepare('SELECT member, expires_at_ms FROM leases WHERE group_name = ?');
  const putLease = db.prepare(
    'INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET member = excluded.member, expires_at_ms = excluded.expires_at_ms',
  );
  const dropLease = db.prepare('DELETE FROM leases WHERE group_name = ? AND member = ?');

  return {
    committed(group: string, id: number): number | null {
      const row = committed.get(group, id);
      return row === undefined ? null : OneNumber.parse(row);
    },
    committedBy: (group: string): CommittedPlace[] =>
      committedBy.all(group).map((row) => CommittedRow.parse(row)),
    commit: (group: string, id: number, nextOffset: number): void => void commit.run(group, id, nextOffset),
    lease(group: string): Lease | null {
      const row = lease.get(group);
      return row === undefined ? null : LeaseRow.parse(row);
    },
    putLease: (group: string, member: string, expiresAtMs: number): void =>
      void putLease.run(group, member, expiresAtMs),
    dropLease: (group: string, member: string): void => void dropLease.run(group, member),
  };
}

/** What one call removes at most, so that no other writer and no event loop waits long. */
const STEP_RECORDS = 64;
const STEP_BYTES = 8 * 1024 * 1024;
const RemovalRow = z.object({ id: z.int(), partition_id: z.int(), size_bytes: z.int() });

/** The statements of retention and compaction. Each returns how many records it removed; 0 means that nothing is left. */
export function prepareCleaning(db: DatabaseSync) {
  const expired = db.prepare(
    'SELECT id, partition_id, size_bytes FROM records WHERE partition_id = ? AND timestamp_ms < ? ORDER BY timestamp_ms, id LIMIT ?',
  );
  const oldest = db.prepare(
    'SELECT r.id, r.partition_id, r.size_bytes FROM records r JOIN partitions p ON p.id = r.partition_id WHERE p.topic NOT IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?',
  );
  const outdated = db.prepare(
    'SELECT id, partition_id, size_bytes FROM records AS r WHERE partition_id = ? AND (offset < (SELECT max(offset) FROM records AS n WHERE n.partition_id = r.partition_id AND n.key = r.key) OR (value IS NULL AND timestamp_ms < ?)) ORDER BY offset LIMIT ?',
  );
  const kept = db.prepare('SELECT sum(kept_bytes) AS n FROM partitions');
  const remove = db.prepare('DELETE FROM records WHERE id = ?');
  const subtract = db.prepare('UPDATE partitions SET kept_bytes = kept_bytes - ? WHERE id = ?');

  /** Removes from the front until `bytes` are gone; at least one record, when there is one. */
  const removeFirst = (rows: readonly unknown[], bytes: number): number => {
    let removed = 0;
    for (let left = bytes; removed < rows.length && left > 0; removed += 1) {
      const row = RemovalRow.parse(rows[removed]);
      remove.run(row.id);
      subtract.run(row.size_bytes, row.partition_id);
      left -= row.size_bytes;
    }
    return removed;
  };

  return {
    removeExpired: (id: number, beforeMs: number): number =>
      removeFirst(expired.all(id, beforeMs, STEP_RECORDS), STEP_BYTES),
    /** The oldest records of all topics but those of `except`, about `bytes` of them. */
    removeOldest: (except: readonly TopicName[], bytes: number): number =>
      removeFirst(oldest.all(JSON.stringify(except), STEP_RECORDS), Math.min(bytes, STEP_BYTES)),
    /** Records whose key has a newer one, and tombstones older than the given time. */
    removeOutdated: (id: number, tombstonesBeforeMs: number): number =>
      removeFirst(outdated.all(id, tombstonesBeforeMs, STEP_RECORDS), STEP_BYTES),
    keptBytes: (): number => OneNumber.parse(kept.get()) ?? 0,
  };
}

export const prepareStatements = (db: DatabaseSync, path: string) => ({
  /** The command that creates the topics of this log. */
  creation: embeddedCreation(path),
  ...prepareRecords(db),
  ...prepareGroups(db),
  ...prepareCleaning(db),
});
export type Statements = ReturnType<typeof prepareStatements>;
