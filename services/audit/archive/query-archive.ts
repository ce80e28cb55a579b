import { join, resolve } from 'node:path';
import { type DuckDBConnection, type Json, StatementType } from '@duckdb/node-api';
import { TOPICS, type TopicId } from '../../../schemas/topics.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { requireManifest } from './archive-files.ts';
import { openDuckDb, sqlText } from './duckdb.ts';
import { filesOf } from './manifest.ts';
import type { ArchivedFile } from './manifest-entry.ts';

/** A row of the answer, by the names of its columns. Whole numbers beyond 32 bits are text, as are times. */
export type QueryRow = Readonly<Record<string, Json>>;

export interface ArchiveQuery {
  readonly directory: string;
  readonly sql: string;
}

/**
 * Answers one SELECT over the view `records`, or over a view for each topic, such as `inventory` or `disk_stats`, which
 * has the event as JSON. Nothing but the files of the archive can be read, and nothing written. The files are taken as
 * they are: `checkArchive` finds what was changed. Throws `USAGE` for a query that cannot be answered.
 */
export async function* queryArchive(
  { directory, sql }: ArchiveQuery,
  signal: AbortSignal,
): AsyncGenerator<QueryRow, void> {
  const root = resolve(directory);
  const files = filesOf(await requireManifest(root));
  using duck = await openDuckDb();
  using connection = await duck.connect();
  const interrupt = (): void => connection.interrupt();
  signal.addEventListener('abort', interrupt);
  try {
    await prepareViews(connection, root, files);
    await requireSelect(connection, sql);
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjectJson()) yield* rows;
  } catch (error) {
    if (!signal.aborted) throw unanswerable(error);
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

/** Then nothing else can be opened any more. */
async function prepareViews(
  connection: DuckDBConnection,
  root: string,
  files: readonly ArchivedFile[],
): Promise<void> {
  await connection.run(`SET allowed_paths = ${pathList(root, files)}`);
  await connection.run('SET enable_external_access = false');
  await connection.run(
    `CREATE VIEW records AS SELECT * REPLACE (headers::JSON AS headers) FROM ${sourceOf(root, files)}`,
  );
  for (const [topicId, { name }] of Object.entries(TOPICS)) {
    const own = files.filter(({ topic }) => topic === name);
    await connection.run(
      `CREATE VIEW ${viewName(topicId)} AS SELECT "partition", "offset", time, key, type, id, TRY_CAST(TRY(decode(value)) AS JSON) AS event FROM ${sourceOf(root, own)}`,
    );
  }
  await connection.run('SET lock_configuration = true');
}

/** `disk_stats` of `diskStats`. */
const viewName = (topicId: TopicId | string): string =>
  topicId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const NOTHING =
  '(SELECT NULL::VARCHAR AS topic, NULL::INTEGER AS "partition", NULL::BIGINT AS "offset", NULL::TIMESTAMP_MS AS time, NULL::VARCHAR AS key, NULL::VARCHAR AS type, NULL::VARCHAR AS id, NULL::VARCHAR AS headers, NULL::BLOB AS value WHERE false)';

const sourceOf = (root: string, files: readonly ArchivedFile[]): string =>
  files.length === 0 ? NOTHING : `read_parquet(${pathList(root, files)})`;

const pathList = (root: string, files: readonly ArchivedFile[]): string =>
  `[${files.map(({ file }) => sqlText(join(root, file))).join(', ')}]`;

/** A COPY or ATTACH could write to the files that may be read, and so could an EXPLAIN ANALYZE of one. */
async function requireSelect(connection: DuckDBConnection, sql: string): Promise<void> {
  const statements = await connection.extractStatements(sql);
  const statement = statements.count === 1 ? await statements.prepare(0) : null;
  if (statement?.statementType === StatementType.SELECT) return;
  throw new FleetGcError('USAGE', 'an archive answers one SELECT at a time, and nothing else');
}

function unanswerable(error: unknown): FleetGcError {
  if (error instanceof FleetGcError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new FleetGcError('USAGE', `the query cannot be answered: ${message}`, { cause: error });
}
