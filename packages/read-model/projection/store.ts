import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Span, withSpan } from './coverage.ts';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { type Kept, prune, type StoreBounds } from './prune.ts';
import type { Row } from './rows.ts';
import { RowWriter } from './written-rows.ts';

/** So many lines of activity and names are a fraction of the space that a projection may have. */
const MOST_ACTIVITY = 500_000;
const MOST_NAMES = 500_000;
const MOST_LETTERS = 100_000;

const KEPT_ALL: Kept = { sinceMs: 0, activitySinceMs: 0, lettersSinceMs: 0 };

/** What was read of a topic. */
export interface Read {
  readonly topic: ProjectedTopic;
  readonly span: Span;
}

/** The projection on disk: rows go in, in any order and however often, and readers look at it. */
export class Store implements Disposable {
  /** For reading alone. */
  readonly db: DatabaseSync;
  readonly #writer: RowWriter;
  readonly #bounds: StoreBounds;
  readonly #covered: Map<ProjectedTopic, readonly Span[]>;
  #kept: Kept = KEPT_ALL;

  constructor(db: DatabaseSync, bounds: Pick<StoreBounds, 'historyMs' | 'mostBytes'> & Partial<StoreBounds>) {
    this.db = db;
    this.#bounds = {
      mostActivity: MOST_ACTIVITY,
      mostNames: MOST_NAMES,
      mostLetters: MOST_LETTERS,
      ...bounds,
    };
    this.#writer = new RowWriter(db);
    this.#covered = new Map(PROJECTED_TOPICS.map((topic) => [topic, coveredOf(db, topic)]));
  }

  covered(topic: ProjectedTopic): readonly Span[] {
    return this.#covered.get(topic) ?? [];
  }

  /** What is older of it would go at once. */
  keepsSinceMs(topic: ProjectedTopic): number {
    if (topic === 'deadLetters') return this.#kept.lettersSinceMs;
    return topic === 'decisions' ? this.#kept.activitySinceMs : this.#kept.sinceMs;
  }

  /** All of it or nothing; what was read counts only with its rows. */
  apply(rows: readonly Row[], read: readonly Read[] = []): void {
    this.#transact(() => {
      for (const row of rows) this.#writer.write(row);
      for (const { topic, span } of read) this.#cover(topic, span);
    });
    for (const { topic } of read) this.#covered.set(topic, coveredOf(this.db, topic));
  }

  /** Lets go of what is too old, and of the oldest where there is too much; what went is not read again. */
  prune(nowMs: number): void {
    this.#transact(() => {
      const kept = prune(this.db, this.#bounds, nowMs);
      this.#kept = {
        sinceMs: Math.max(kept.sinceMs, this.#kept.sinceMs),
        activitySinceMs: Math.max(kept.activitySinceMs, this.#kept.activitySinceMs),
        lettersSinceMs: Math.max(kept.lettersSinceMs, this.#kept.lettersSinceMs),
      };
    });
    this.#writer.forget();
    for (const topic of PROJECTED_TOPICS) this.#covered.set(topic, coveredOf(this.db, topic));
  }

  /** Lets go of everything: what it was made of is not there any more. */
  clear(): void {
    this.#transact(() => {
      for (const { name } of this.db.prepare(FILLED).all()) this.db.exec(`DELETE FROM "${name}"`);
    });
    this.#writer.forget();
    this.#kept = KEPT_ALL;
    for (const topic of PROJECTED_TOPICS) this.#covered.set(topic, []);
  }

  /** Where the newest inventory of a node lies; `null` where none is known. */
  inventoryOf(node: string): InventoryPlace | null {
    return placeOf(this.db.prepare(`${PLACES} WHERE node = ?`).get(node));
  }

  /** The same of all nodes. */
  newestInventory(): InventoryPlace | null {
    return placeOf(this.db.prepare(`${PLACES} ORDER BY at_ms DESC LIMIT 1`).get());
  }

  [Symbol.dispose](): void {
    this.db.close();
  }

  #cover(topic: ProjectedTopic, span: Span): void {
    const covered = withSpan(coveredOf(this.db, topic), span);
    this.db.prepare('DELETE FROM covered WHERE topic = ?').run(topic);
    const insert = this.db.prepare('INSERT INTO covered VALUES (?, ?, ?)');
    for (const { fromMs, toMs } of covered) insert.run(topic, fromMs, toMs);
  }

  #transact(work: () => void): void {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.db.exec('COMMIT');
    } catch (error) {
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      this.#writer.forget();
      throw error;
    }
  }
}

/** All tables but the one that says what the file is. */
const FILLED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'about'";

const PLACES = 'SELECT node, at_ms, CAST(offset AS TEXT) AS offset, partition FROM inventories';

/** Where an inventory lies on the log, and when it came. */
export interface InventoryPlace {
  readonly node: string;
  readonly atMs: number;
  readonly offset: bigint;
  readonly partition: number;
}

const placeOf = (row: ReturnType<StatementSync['get']>): InventoryPlace | null =>
  row === undefined
    ? null
    : {
        node: String(row.node),
        atMs: Number(row.at_ms),
        offset: BigInt(String(row.offset)),
        partition: Number(row.partition),
      };

const coveredOf = (db: DatabaseSync, topic: ProjectedTopic): readonly Span[] =>
  db
    .prepare('SELECT from_ms, to_ms FROM covered WHERE topic = ? ORDER BY from_ms')
    .all(topic)
    .map(({ from_ms, to_ms }) => ({ fromMs: Number(from_ms), toMs: Number(to_ms) }));
