/**
 * How much of an archive in object storage the life of one object takes: `node test/bench/fetched-from-storage.ts --archive
 * DIRECTORY`, of an archive of a synthetic month (`test/bench/month/write-month.ts`, then `fleetgc audit archive`).
 */
import { cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { BUCKET, REGION, startObjectStorage } from '../support/object-storage.ts';
import { watchConnections } from '../support/watched-connections.ts';
import { say } from './context.ts';
import { FLEETGC, timedRun } from './timed-run.ts';

const PREFIX = 'month';
const Named = z.object({ key: z.string(), items: z.string() });
const Items = z.array(z.looseObject({ kind: z.string(), id: z.string() }));

const CONTAINERS = `SELECT key, event->'items' AS items FROM commands
  WHERE event->>'items' LIKE '%"kind":"container"%' ORDER BY time DESC LIMIT 1`;

/** The last container that a command names. */
async function lastContainer(directory: string): Promise<{ readonly node: string; readonly id: string }> {
  const { output } = await timedRun(FLEETGC, [
    ...['audit', 'query', CONTAINERS, '--archive', directory, '-o', 'ndjson', '--no-check'],
  ]);
  const { key, items } = Named.parse(JSON.parse(output));
  const named = Items.parse(JSON.parse(items)).find(({ kind }) => kind === 'container');
  return { node: key, id: named?.id ?? '' };
}

const bytesIn = (directory: string): number =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

const { values } = parseArgs({ options: { archive: { type: 'string' } } });
if (values.archive === undefined) throw new Error('--archive DIRECTORY is missing');
await using storage = await startObjectStorage();
Object.assign(process.env, storage.owner);
cpSync(values.archive, join(storage.directory, BUCKET, PREFIX), { recursive: true });
const wholeBytes = bytesIn(values.archive);
const { node, id } = await lastContainer(values.archive);
for (const more of [[], ['--node', node]]) {
  await using watched = await watchConnections(storage.port);
  const { wallMs } = await timedRun(FLEETGC, [
    ...['audit', 'explain', `container/${id}`, ...more, '--log', 'archive'],
    ...['--archive', `s3://${BUCKET}/${PREFIX}`, '--s3-endpoint', `http://127.0.0.1:${watched.port}`],
    ...['--s3-region', REGION, '--s3-path-style'],
  ]);
  const fetched = watched.fetchedBytes();
  const part = `${((100 * fetched) / wholeBytes).toFixed(1)} % of ${Math.round(wholeBytes / 1e6)} MB`;
  say(
    `explain ${more.join(' ')}: ${(fetched / 1e6).toFixed(1)} MB, ${part}, ${(wallMs / 1000).toFixed(1)} s`,
  );
}
