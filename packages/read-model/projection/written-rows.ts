import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import type { ClusterRow } from './cluster-rows.ts';
import type { Row, RowOf, TableName } from './rows.ts';
import { writtenOfCluster } from './written-cluster-rows.ts';

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
export class RowWriter {
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
