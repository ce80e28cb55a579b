import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { type Kept, prune, type StoreBounds } from './prune.ts';
import type { ClusterRow, Row, RowOf, TableName } from './rows.ts';

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

interface Written<Table extends TableName> {
  /** Of two rows of one key the newest or the widest stays, so that neither order nor repetition matters. */
  readonly sql: string;
  readonly values: (row: RowOf<Table>, numberOf: (node: string) => number) => SQLInputValue[];
}

const packed = (value: object): Uint8Array => zstdCompressSync(JSON.stringify(value));

const NEWER = (table: string): string =>
  `WHERE (excluded.at_ms, excluded.offset) > (${table}.at_ms, ${table}.offset)`;

const WRITTEN: { readonly [Table in Exclude<TableName, ClusterRow['table']>]: Written<Table> } = {
  nodes: {
    sql: `INSERT INTO nodes VALUES (?, ?, ?, ?) ON CONFLICT (node) DO UPDATE
      SET at_ms = excluded.at_ms, offset = excluded.offset, stats = excluded.stats ${NEWER('nodes')}`,
    values: ({ node, atMs, offset, stats }) => [node, atMs, offset, packed(stats)],
  },
  inventories: {
    sql: `INSERT INTO inventories VALUES (?, ?, ?, ?, ?) ON CONFLICT (node) DO UPDATE
      SET at_ms = excluded.at_ms, offset = excluded.offset, partition = excluded.partition,
        containers = excluded.containers ${NEWER('inventories')}`,
    values: ({ node, atMs, offset, partition, containers }) => [
      node,
      atMs,
      offset,
      partition,
      packed(containers()),
    ],
  },
  held: {
    sql: `INSERT INTO held VALUES (?, ?, ?, ?, ?) ON CONFLICT (node) DO UPDATE
      SET at_ms = excluded.at_ms, offset = excluded.offset, taken_ms = excluded.taken_ms, images = excluded.images ${NEWER('held')}`,
    values: ({ node, atMs, offset, takenMs, held }) => [node, atMs, offset, takenMs, packed(held())],
  },
  disks: {
    sql: `INSERT INTO disks VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET least = min(least, excluded.least), most = max(most, excluded.most)`,
    values: ({ node, span, filesystem, least, most }, numberOf) => [
      numberOf(node),
      span,
      filesystem,
      least,
      most,
    ],
  },
  removals: {
    sql: 'INSERT INTO removals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = min(at_ms, excluded.at_ms)',
    values: ({ id, atMs, node, kind, object, rule, freedBytes, estimatedBytes, nodeMs }) => [
      id,
      atMs,
      node,
      kind,
      object,
      rule,
      freedBytes,
      estimatedBytes,
      nodeMs,
    ],
  },
  activity: {
    sql: 'INSERT INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = min(at_ms, excluded.at_ms)',
    values: ({ id, atMs, node, what, text, rule, kind, object }) => [
      id,
      atMs,
      node,
      what,
      text,
      rule,
      kind,
      object,
    ],
  },
  names: {
    sql: `INSERT INTO names VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET seen = excluded.seen, node = excluded.node WHERE (excluded.seen, excluded.node) > (names.seen, names.node)`,
    values: ({ kind, id, name, seen, node }) => [kind, id, name, seen, node],
  },
  letters: {
    sql: `INSERT INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET at_ms = excluded.at_ms, offset = excluded.offset, partition = excluded.partition, cause = excluded.cause,
      message = excluded.message, consumer = excluded.consumer, topic = excluded.topic, key = excluded.key,
      value_bytes = excluded.value_bytes, suppressed = excluded.suppressed ${NEWER('letters')}`,
    values: (row) => [
      row.id,
      row.atMs,
      row.offset,
      row.partition,
      row.cause,
      row.message,
      row.group,
      row.topic,
      row.key,
      row.valueBytes,
      row.suppressedBefore,
    ],
  },
  redrives: {
    sql: 'INSERT INTO redrives VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    values: ({ partition, offset, atMs, letter, by, reason }) => [
      partition,
      offset,
      atMs,
      letter,
      by,
      reason,
    ],
  },
};

/** Writes rows into their tables. */
class RowWriter {
  readonly #statements = new Map<TableName, StatementSync>();
  readonly #numbers = new Map<string, number>();
  readonly #db: DatabaseSync;
  readonly #addNumber: StatementSync;
  readonly #findNumber: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#addNumber = db.prepare('INSERT INTO node_numbers (node) VALUES (?) ON CONFLICT DO NOTHING');
    this.#findNumber = db.prepare('SELECT number FROM node_numbers WHERE node = ?');
  }

  write(row: Row): void {
    switch (row.table) {
      case 'nodes':
        this.#run('nodes', row);
        break;
      case 'inventories':
        this.#run('inventories', row);
        break;
      case 'held':
        this.#run('held', row);
        break;
      case 'disks':
        this.#run('disks', row);
        break;
      case 'removals':
        this.#run('removals', row);
        break;
      case 'activity':
        this.#run('activity', row);
        break;
      case 'names':
        this.#run('names', row);
        break;
      case 'letters':
        this.#run('letters', row);
        break;
      case 'redrives':
        this.#run('redrives', row);
        break;
      default: {
        const { sql, values } = writtenOfCluster(row);
        this.#prepared(row.table, sql).run(...values);
      }
    }
  }

  /** Numbers of a transaction that came to nothing are not there. */
  forget(): void {
    this.#numbers.clear();
  }

  #run<Table extends keyof typeof WRITTEN>(table: Table, row: RowOf<Table>): void {
    const { sql, values } = WRITTEN[table];
    this.#prepared(table, sql).run(...values(row, (node) => this.#numberOf(node)));
  }

  #prepared(table: TableName, sql: string): StatementSync {
    const statement = this.#statements.get(table) ?? this.#db.prepare(sql);
    this.#statements.set(table, statement);
    return statement;
  }

  #numberOf(node: string): number {
    const known = this.#numbers.get(node);
    if (known !== undefined) return known;
    this.#addNumber.run(node);
    const number = Number(this.#findNumber.get(node)?.number);
    this.#numbers.set(node, number);
    return number;
  }
}

type ClusterTable = ClusterRow['table'];

/** Of two rows of one key the newest stays; the columns in their order, the key first. */
function newest(table: ClusterTable, key: readonly string[], others: readonly string[]): string {
  const columns = [...key, 'at_ms', 'offset', ...others];
  const changes = ['at_ms', 'offset', ...others].map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changes.join(', ')}
    WHERE (excluded.at_ms, excluded.offset) > (${table}.at_ms, ${table}.offset)`;
}

const OBJECT = ['cluster', 'uid'];
const NAME = ['kind', 'namespace', 'name'];

const WRITTEN_OF_CLUSTERS: Readonly<Record<ClusterTable, string>> = {
  censuses: newest('censuses', ['cluster'], ['session', 'found', 'census']),
  census_points: newest('census_points', ['cluster', 'step_ms', 'slot'], ['session', 'objects', 'kinds']),
  cluster_outcomes: `INSERT INTO cluster_outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET at_ms = min(at_ms, excluded.at_ms)`,
  cluster_objects: newest('cluster_objects', OBJECT, [...NAME, 'deleting', 'finalizers']),
  cluster_settled: newest('cluster_settled', OBJECT, ['how']),
  cluster_owners: newest(
    'cluster_owners',
    ['cluster', 'owner_uid', 'uid'],
    ['owner_kind', 'owner_name', 'state'],
  ),
  cluster_deeds: newest('cluster_deeds', OBJECT, [...NAME, 'action', 'rule', 'outcome', 'message']),
};

/** How a row about a cluster is written. */
const writtenOfCluster = (
  row: ClusterRow,
): { readonly sql: string; readonly values: readonly SQLInputValue[] } => ({
  sql: WRITTEN_OF_CLUSTERS[row.table],
  values: valuesOf(row),
});

function valuesOf(row: ClusterRow): readonly SQLInputValue[] {
  const { cluster, atMs } = row;
  switch (row.table) {
    case 'censuses':
      return [
        ...[cluster, atMs, row.offset, row.census.session, JSON.stringify(row.found)],
        zstdCompressSync(JSON.stringify(row.census)),
      ];
    case 'census_points': {
      const kinds = row.kinds === null ? null : JSON.stringify(row.kinds);
      return [cluster, row.stepMs, row.slot, atMs, row.offset, row.session, row.objects, kinds];
    }
    case 'cluster_outcomes': {
      const { id, position, kind, action, rule, ownRule, outcome, reason, objects } = row;
      return [cluster, id, position, atMs, kind, action, rule, ownRule, outcome, reason, objects];
    }
    case 'cluster_objects': {
      const { uid, offset, kind, namespace, name, isBeingDeleted, finalizers } = row;
      const deleting = isBeingDeleted ? 1 : 0;
      return [cluster, uid, atMs, offset, kind, namespace, name, deleting, JSON.stringify(finalizers)];
    }
    case 'cluster_settled':
      return [cluster, row.uid, atMs, row.offset, row.how];
    case 'cluster_owners': {
      const { ownerUid, uid, offset, ownerKind, ownerName, state } = row;
      return [cluster, ownerUid, uid, atMs, offset, ownerKind, ownerName, state];
    }
    case 'cluster_deeds': {
      const { uid, offset, kind, namespace, name, action, rule, outcome, message } = row;
      return [cluster, uid, atMs, offset, kind, namespace, name, action, rule, outcome, message];
    }
  }
}

/** A part of the log by its own clock, epoch milliseconds: from `fromMs` up to and without `toMs`. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What was read with one more span: in the order of time, and none touches another. */
export function withSpan(covered: readonly Span[], added: Span): readonly Span[] {
  const merged: Span[] = [];
  for (const span of [...covered, added].toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last === undefined || span.fromMs > last.toMs) merged.push(span);
    else merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, span.toMs) };
  }
  return merged;
}

/** The newest span that was not read, no longer than `mostMs`; `null` where all since `sinceMs` and before `beforeMs` was. */
export function nextGap(
  covered: readonly Span[],
  {
    sinceMs,
    beforeMs,
    mostMs,
  }: { readonly sinceMs: number; readonly beforeMs: number; readonly mostMs: number },
): Span | null {
  let toMs = beforeMs;
  let floorMs = sinceMs;
  for (const span of covered.toReversed()) {
    if (span.fromMs >= toMs) continue;
    if (span.toMs >= toMs) toMs = span.fromMs;
    else {
      floorMs = Math.max(sinceMs, span.toMs);
      break;
    }
  }
  return toMs <= floorMs ? null : { fromMs: Math.max(floorMs, toMs - mostMs), toMs };
}
