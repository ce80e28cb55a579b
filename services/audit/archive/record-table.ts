import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBTimestampMillisecondsValue,
} from '@duckdb/node-api';
import type { LogRecord } from '../../shared/event-log/port.ts';
import { type Duck, sqlText } from './duckdb.ts';

/** Records on their way into a Parquet file. */
export interface RecordTable extends Disposable {
  add(record: LogRecord): void;
  /** Writes what was added, and begins anew. */
  writeParquet(path: string): Promise<void>;
  /** Begins anew without writing. */
  clear(): Promise<void>;
}

/** `type` and `id` repeat the headers of CloudEvents, for whoever queries. */
const CREATE = `CREATE OR REPLACE TABLE records (
  topic VARCHAR, "partition" INTEGER, "offset" BIGINT, time TIMESTAMP_MS,
  key VARCHAR, type VARCHAR, id VARCHAR, headers VARCHAR, value BLOB)`;

/** The inventories of a node stand side by side, where they compress each other to a tenth. */
const copyTo = (path: string): string =>
  `COPY (FROM records ORDER BY key, "offset") TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd)`;

export async function createRecordTable(duck: Duck): Promise<RecordTable> {
  const connection = await duck.connect();
  let open: DuckDBAppender | null = await emptyTable(connection);
  const close = (): void => {
    open?.closeSync();
    open = null;
  };
  return {
    add: (record) => appendRecord(open ?? noTable(), record),
    writeParquet: async (path) => {
      close();
      await connection.run(copyTo(path));
      open = await emptyTable(connection);
    },
    clear: async () => {
      close();
      open = await emptyTable(connection);
    },
    [Symbol.dispose]: () => {
      close();
      connection[Symbol.dispose]();
    },
  };
}

function noTable(): never {
  throw new TypeError('the table was left after a failure');
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
