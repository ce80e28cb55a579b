import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBInstance,
  DuckDBTimestampMillisecondsValue,
} from '@duckdb/node-api';
import type { LogRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { systemProblem } from '../process/system-problem.ts';

/** An in-memory DuckDB of its own. */
export interface Duck extends AsyncDisposable {
  /** One reading at a time goes over a connection. */
  connect(): Promise<DuckDBConnection & Disposable>;
}

/** @limit Memory of DuckDB for a query. */
const MEMORY = '512MiB';

/**
 * Gives memory back at once and caches no files, so that a long reading stays small; never loads an extension from the
 * network, nor writes what does not fit into memory to the disk.
 */
const SETTINGS = {
  memory_limit: MEMORY,
  threads: '1',
  allocator_flush_threshold: '1MiB',
  allocator_bulk_deallocation_flush_threshold: '1MiB',
  enable_external_file_cache: 'false',
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

/** Begins with the first connection, since that takes a moment and many archives are asked or written nothing. */
export function openDuckDb(): Duck {
  let opened: Promise<DuckDBInstance> | null = null;
  let isClosed = false;
  return {
    connect: async () => {
      opened ??= DuckDBInstance.create(':memory:', SETTINGS);
      const connection = await (await opened).connect();
      return Object.assign(connection, { [Symbol.dispose]: () => connection.closeSync() });
    },
    [Symbol.asyncDispose]: async () => {
      if (!isClosed) (await opened)?.closeSync();
      isClosed = true;
    },
  };
}

/** A text in SQL. */
export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Records on their way into a Parquet file. */
export interface RecordTable extends Disposable {
  add(record: LogRecord): Promise<void>;
  /** Writes what was added, and begins anew. */
  writeParquet(path: string): Promise<void>;
  /** Begins anew without writing. */
  clear(): void;
}

/** `type` and `id` repeat the headers of CloudEvents, for whoever queries. */
const CREATE = `CREATE OR REPLACE TABLE records (
  topic VARCHAR, "partition" INTEGER, "offset" BIGINT, time TIMESTAMP_MS,
  key VARCHAR, type VARCHAR, id VARCHAR, headers VARCHAR, value BLOB)`;

/** The inventories of a node stand side by side, where they compress each other to a tenth. */
const copyTo = (path: string): string =>
  `COPY (FROM records ORDER BY key, "offset") TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd)`;

/** Opens the database with the first record. */
export function createRecordTable(duck: Duck): RecordTable {
  let connection: (DuckDBConnection & Disposable) | null = null;
  let appender: DuckDBAppender | null = null;
  const clear = (): void => {
    appender?.closeSync();
    appender = null;
  };
  return {
    add: async (record) => {
      connection ??= await duck.connect();
      appender ??= await emptyTable(connection);
      appendRecord(appender, record);
    },
    writeParquet: async (path) => {
      clear();
      await connection?.run(copyTo(path));
    },
    clear,
    [Symbol.dispose]: () => {
      clear();
      connection?.[Symbol.dispose]();
    },
  };
}

async function emptyTable(connection: DuckDBConnection): Promise<DuckDBAppender> {
  await connection.run(CREATE);
  return await connection.createAppender('records');
}

function appendRecord(appender: DuckDBAppender, record: LogRecord): void {
  const { topic, partition, offset, timestampMs, key, headers, value } = record;
  appender.appendVarchar(topic);
  appender.appendInteger(partition);
  appender.appendBigInt(offset);
  appender.appendTimestampMilliseconds(new DuckDBTimestampMillisecondsValue(BigInt(timestampMs)));
  appendText(appender, key);
  appendText(appender, headers.ce_type);
  appendText(appender, headers.ce_id);
  appender.appendVarchar(JSON.stringify(headers));
  if (value === null) appender.appendNull();
  else appender.appendBlob(value);
  appender.endRow();
}

function appendText(appender: DuckDBAppender, text: string | null | undefined): void {
  if (text === null || text === undefined) appender.appendNull();
  else appender.appendVarchar(text);
}

export interface PrivateFile extends AsyncDisposable {
  readonly path: string;
}

/** A path in a directory of our own. Throws as `privateDirectory`. */
export async function privateFile(): Promise<PrivateFile> {
  const directory = await privateDirectory();
  return { ...directory, path: join(directory.path, 'records.parquet') };
}

/**
 * DuckDB knows only paths, and whoever can write to the archive could put another file there in between. Throws
 * `STATE_UNWRITABLE`.
 */
export async function privateDirectory(): Promise<PrivateFile> {
  const path = await mkdtemp(join(tmpdir(), 'fleetgc-archive-')).catch((cause: unknown) => {
    throw new FleetGcError(
      'STATE_UNWRITABLE',
      `no temporary file can be made in ${tmpdir()}: ${systemProblem(cause, tmpdir()) ?? (cause instanceof Error ? cause.message : cause)}. TMPDIR names another directory`,
      { cause },
    );
  });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
