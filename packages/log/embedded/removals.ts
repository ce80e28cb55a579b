import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';

/** What one call removes at most, so that no other writer and no event loop waits long. */
const STEP_RECORDS = 64;
const STEP_BYTES = 8 * 1024 * 1024;

const KEPT_FOREVER: readonly TopicName[] = Object.values(TOPICS)
  .filter(({ retentionMs }) => retentionMs === 'forever')
  .map(({ name }) => name);

const RemovalRow = z.object({ id: z.int(), partition_id: z.int(), size_bytes: z.int() });
const Bytes = z.object({ n: z.int().nullable() }).transform((row) => row.n ?? 0);

/** What retention and compaction remove. Each call returns how many records went; 0 means that nothing is left. */
export class Removals {
  readonly #expired: StatementSync;
  readonly #oldest: StatementSync;
  readonly #outdated: StatementSync;
  readonly #kept: StatementSync;
  readonly #remove: StatementSync;
  readonly #subtract: StatementSync;

  constructor(db: DatabaseSync) {
    this.#expired = db.prepare(
      'SELECT id, partition_id, size_bytes FROM records WHERE partition_id = ? AND timestamp_ms < ? ORDER BY timestamp_ms, id LIMIT ?',
    );
    this.#oldest = db.prepare(
      'SELECT r.id, r.partition_id, r.size_bytes FROM records r JOIN partitions p ON p.id = r.partition_id WHERE p.topic NOT IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?',
    );
    this.#outdated = db.prepare(
      'SELECT id, partition_id, size_bytes FROM records AS r WHERE partition_id = ? AND (offset < (SELECT max(offset) FROM records AS n WHERE n.partition_id = r.partition_id AND n.key = r.key) OR (value IS NULL AND timestamp_ms < ?)) ORDER BY offset LIMIT ?',
    );
    this.#kept = db.prepare('SELECT sum(kept_bytes) AS n FROM partitions');
    this.#remove = db.prepare('DELETE FROM records WHERE id = ?');
    this.#subtract = db.prepare('UPDATE partitions SET kept_bytes = kept_bytes - ? WHERE id = ?');
  }

  removeExpired(id: number, beforeMs: number): number {
    return this.#removeFirst(this.#expired.all(id, beforeMs, STEP_RECORDS), STEP_BYTES);
  }

  /** The oldest records of all topics that are not kept for ever, about `bytes` of them. */
  removeOldest(bytes: number): number {
    const rows = this.#oldest.all(JSON.stringify(KEPT_FOREVER), STEP_RECORDS);
    return this.#removeFirst(rows, Math.min(bytes, STEP_BYTES));
  }

  /** Records whose key has a newer one, and tombstones older than the given time. */
  removeOutdated(id: number, tombstonesBeforeMs: number): number {
    return this.#removeFirst(this.#outdated.all(id, tombstonesBeforeMs, STEP_RECORDS), STEP_BYTES);
  }

  keptBytes(): number {
    return Bytes.parse(this.#kept.get());
  }

  /** From the front until `bytes` are gone; at least one record, when there is one. */
  #removeFirst(rows: readonly unknown[], bytes: number): number {
    let removed = 0;
    for (let left = bytes; removed < rows.length && left > 0; removed += 1) {
      const row = RemovalRow.parse(rows[removed]);
      this.#remove.run(row.id);
      this.#subtract.run(row.size_bytes, row.partition_id);
      left -= row.size_bytes;
    }
    return removed;
  }
}
