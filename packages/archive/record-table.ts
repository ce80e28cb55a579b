import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBTimestampMillisecondsValue,
} from '@duckdb/node-api';
import type { LogRecord } from '../log/port.ts';
import { type Duck, sqlText } from './duckdb.ts';

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
