import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Command } from '../../../../schemas/events/command.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { say } from '../../context.ts';
import type { Figure } from '../../figure.ts';
import type { WrittenMonth } from '../../month/write-month.ts';
import { spreadOf } from '../../statistics.ts';
import { FLEETGC, timedRun } from '../../timed-run.ts';
import { embedded, verifiedArchiveFigures } from './verify.ts';

const ROUNDS = 3;
/** Of what takes longer, one round says enough. */
const MOST_SECONDS = 60;

/** What an archive of the month takes, and how long a question to it. */
export async function archiveFigures(
  path: string,
  directory: string,
  month: WrittenMonth,
): Promise<readonly Figure[]> {
  say('audit archive');
  const archiving = await timedRun(FLEETGC, ['audit', 'archive', '--to', directory, ...embedded(path)]);
  say(`archived in ${Math.round(archiving.wallMs / 1000)} s`);
  const nodeDays = month.nodes * month.days;
  const size: Figure = {
    benchmark: 'audit',
    name: 'archive, a node and day',
    unit: 'kB',
    value: spreadOf([bytesIn(directory) / nodeDays / 1000]),
    baseline: spreadOf([month.bytes / nodeDays / 1000]),
    baselineName: 'records as they are',
    samples: 1,
    aim: null,
  };
  const { node, object } = removedImage(path);
  return [
    size,
    ...(await verifiedArchiveFigures(archived(directory), month)),
    await explainFigure(directory, 'one node', [`image/${object}`, '--node', node]),
    await explainFigure(directory, 'any node', [`container/${removedContainer(path)}`]),
  ];
}

async function explainFigure(directory: string, what: string, asked: readonly string[]): Promise<Figure> {
  const [explained, whole]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`audit explain, ${what}, round ${round} of ${ROUNDS}`);
    whole.push((await timedRun(FLEETGC, ['audit', 'query', WHOLE, '--archive', directory])).wallMs / 1000);
    const { wallMs } = await timedRun(FLEETGC, ['audit', 'explain', ...asked, ...archived(directory)]);
    explained.push(wallMs / 1000);
    if (wallMs > MOST_SECONDS * 1000) break;
  }
  return {
    benchmark: 'audit',
    name: `explain, ${what}`,
    unit: 's',
    value: spreadOf(explained),
    baseline: spreadOf(whole),
    baselineName: 'DuckDB reads every value',
    samples: explained.length,
    aim: { kind: 'value-at-most', limit: 2 },
  };
}

const archived = (directory: string): readonly string[] => ['--log', 'archive', '--archive', directory];

const WHOLE = 'SELECT count(*) AS records, sum(octet_length(value)) AS bytes FROM records';

const bytesIn = (directory: string): number =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

interface Removed {
  readonly node: string;
  readonly object: string;
}

const removedImage = (path: string): Removed => firstItem(path, 'image');
const removedContainer = (path: string): string => firstItem(path, 'container').object;

/** The first object of a kind that a command of the second half of the month names. */
function firstItem(path: string, kind: string): Removed {
  using database = new DatabaseSync(path, { readOnly: true });
  const commands = database.prepare(
    `SELECT value FROM records JOIN partitions ON partitions.id = partition_id
     WHERE topic = ? AND offset > partitions.next_offset / 2 AND instr(value, ?) > 0 LIMIT 1`,
  );
  const row = commands.get(TOPICS.commands.name, Buffer.from(`"kind":"${kind}"`));
  if (!(row?.value instanceof Uint8Array)) throw new Error(`no command of the month names a ${kind}`);
  const { cluster, node, items }: Command = JSON.parse(Buffer.from(row.value).toString('utf8'));
  const item = items.find((one) => one.kind === kind);
  return { node: `${cluster}/${node}`, object: item?.id ?? '' };
}
