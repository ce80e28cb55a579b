import { statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type DuckDBConnection, type Json, StatementType } from '@duckdb/node-api';
import pMap from 'p-map';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { inFolder } from '../files/folders.ts';
import { withNewFile, writeAll } from '../files/open-file.ts';
import { interrupted } from '../log/stopping.ts';
import { FleetGcError } from '../process/errors.ts';
import { sizeText } from '../text/size-text.ts';
import { archiveChanged, readKnownFile, requireManifest, requireUnchanged } from './archive-files.ts';
import { type CheckProgress, changedFiles } from './check-archive.ts';
import { openDuckDb, privateDirectory, sqlText } from './duckdb.ts';
import { type ArchivedFile, filesOf } from './manifest.ts';
import { openStore } from './open-store.ts';
import type { ArchivePlace, ArchiveStore } from './store.ts';

/** A row of the answer, by the names of its columns. Whole numbers beyond 32 bits are text, as are times. */
export type QueryRow = Readonly<Record<string, Json>>;

export interface ArchiveQuery {
  readonly place: ArchivePlace;
  readonly sql: string;
  /** Whether every file that can be read is compared with the manifest before; what has to be fetched always is. */
  readonly check: boolean;
  readonly onProgress: (progress: CheckProgress) => void;
}

/**
 * Answers one SELECT over the view `records`, or over a view for each topic, such as `inventory` or `disk_stats`, which
 * has the event as JSON. Nothing but the files of the views that the query names can be read, and nothing written.
 * Throws `ARCHIVE_CHANGED`, or `USAGE` for a query that cannot be answered.
 */
export async function* queryArchive(
  query: ArchiveQuery,
  signal: AbortSignal,
): AsyncGenerator<QueryRow, void> {
  const { place, sql } = query;
  using store = await openStore(place);
  const views = viewsIn(sql, filesOf(requireManifest(store.name, await store.readManifest())));
  const files = [...new Set(views.flatMap((view) => view.files))];
  await using local = await localFiles({ ...query, store, files }, signal);
  const { root } = local;
  await using duck = openDuckDb();
  using connection = await duck.connect();
  const interrupt = (): void => connection.interrupt();
  signal.addEventListener('abort', interrupt);
  try {
    await prepareViews(connection, { root, files, views });
    await requireSelect(connection, sql);
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjectJson()) yield* rows;
  } catch (error) {
    throw signal.aborted ? interrupted() : unanswerable(error);
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

interface View {
  readonly name: string;
  readonly select: string;
  readonly files: readonly ArchivedFile[];
}

const RECORDS = { name: 'records', select: 'SELECT * REPLACE (headers::JSON AS headers)' };
const OF_TOPIC =
  'SELECT "partition", "offset", time, key, type, id, TRY_CAST(TRY(decode(value)) AS JSON) AS event';

/** Those whose names stand in the query; there are no others for it, so that no file is read that was not checked. */
function viewsIn(sql: string, files: readonly ArchivedFile[]): readonly View[] {
  const ofTopics = Object.entries(TOPICS).map(([topicId, { name }]) => ({
    name: viewName(topicId),
    select: OF_TOPIC,
    files: files.filter(({ topic }) => topic === name),
  }));
  const text = sql.toLowerCase();
  return [{ ...RECORDS, files }, ...ofTopics].filter(({ name }) => text.includes(name));
}

/** `disk_stats` of `diskStats`. */
const viewName = (topicId: TopicId | string): string =>
  topicId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

interface Prepared {
  readonly root: string;
  readonly files: readonly ArchivedFile[];
  readonly views: readonly View[];
}

/** Then nothing else can be opened any more. */
async function prepareViews(connection: DuckDBConnection, { root, files, views }: Prepared): Promise<void> {
  await connection.run(`SET allowed_paths = ${pathList(root, files)}`);
  await connection.run('SET enable_external_access = false');
  for (const { name, select, files: own } of views)
    await connection.run(`CREATE VIEW ${name} AS ${select} FROM ${sourceOf(root, own)}`);
  await connection.run('SET lock_configuration = true');
}

const NOTHING =
  '(SELECT NULL::VARCHAR AS topic, NULL::INTEGER AS "partition", NULL::BIGINT AS "offset", NULL::TIMESTAMP_MS AS time, NULL::VARCHAR AS key, NULL::VARCHAR AS type, NULL::VARCHAR AS id, NULL::VARCHAR AS headers, NULL::BLOB AS value WHERE false)';

const sourceOf = (root: string, files: readonly ArchivedFile[]): string =>
  files.length === 0 ? NOTHING : `read_parquet(${pathList(root, files)}, hive_partitioning = false)`;

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

/** Files of an archive where DuckDB can read them: it knows only paths. */
export interface LocalFiles extends AsyncDisposable {
  readonly root: string;
}

interface Wanted {
  readonly place: ArchivePlace;
  readonly store: ArchiveStore;
  readonly files: readonly ArchivedFile[];
  /** Whether files that are here already are compared with the manifest; what is fetched always is. */
  readonly check: boolean;
  readonly onProgress: (progress: CheckProgress) => void;
}

/** Throws `ARCHIVE_CHANGED`, and `STATE_UNWRITABLE` where there is no room for what is fetched. */
export async function localFiles(wanted: Wanted, signal: AbortSignal): Promise<LocalFiles> {
  const { place, store, files, check, onProgress } = wanted;
  if (typeof place !== 'string') return await fetchedFiles(wanted, signal);
  if (check) requireUnchanged(store.name, await changedFiles({ store, onProgress }, files, signal));
  return { root: resolve(place), [Symbol.asyncDispose]: async () => undefined };
}

/** Each is in memory for a moment. */
const FETCHED_AT_ONCE = 4;

async function fetchedFiles({ store, files, onProgress }: Wanted, signal: AbortSignal): Promise<LocalFiles> {
  await using opened = new AsyncDisposableStack();
  const { path: root } = opened.use(await privateDirectory());
  await requireRoom(root, files);
  let done = 0;
  const fetch = async (file: ArchivedFile): Promise<void> => {
    signal.throwIfAborted();
    const read = await readKnownFile(store, file);
    if (!read.ok) throw archiveChanged(store.name, read.problem);
    inFolder(root, dirname(file.file), (folder) =>
      withNewFile(`${folder}/${basename(file.file)}`, (fd) => writeAll(fd, read.content)),
    );
    done += 1;
    onProgress({ done, of: files.length });
  };
  await pMap(files, fetch, { concurrency: FETCHED_AT_ONCE });
  const all = opened.move();
  return { root, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function requireRoom(root: string, files: readonly ArchivedFile[]): Promise<void> {
  const needed = files.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes), 0n);
  const { bavail, bsize } = await statfs(root, { bigint: true });
  if (needed <= bavail * bsize) return;
  throw new FleetGcError(
    'STATE_UNWRITABLE',
    `the query needs ${sizeText(needed)} for the files that it reads, and ${dirname(root)} has ${sizeText(bavail * bsize)}: name fewer views, or another directory with TMPDIR`,
  );
}
