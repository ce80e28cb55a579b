import { z } from 'zod';
import { Switch, Text, withMeta } from '../../../packages/process/options/options.ts';
import { linesText } from '../../../packages/text/lines-text.ts';
import { loadArchiveCode } from '../../framework/archive-code.ts';
import { formatOption, jsonLine, tableLines } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { archivePlace, s3Options } from '../../options/archive-options.ts';
import { checkingProgress } from '../../views/audit-text.ts';

/** Of a table; there is no end to what a query may give. */
const MOST_ROWS = 1_000;

export const verb = defineVerb({
  help: [
    'The view records has every record as it was on the event log. Each topic has a view with the event as JSON: inventory, disk_stats, observe, decisions, commands, results, policies, policy_versions, keys, heads, dead_letters, and of clusters those that begin with cluster_, such as cluster_decisions. A query can read only the archive, and write nothing. Before it runs, the files of the views that it names are compared with the manifest.',
  ],
  examples: [
    'fleetgc audit query "SELECT topic, count(*) FROM records GROUP BY topic" --archive /srv/fleetgc-archive',
    "fleetgc audit query \"SELECT time, key, event->'result'->>'outcome' AS outcome FROM results WHERE event->>'type' = 'fleetgc.node.object-result'\" --archive /srv/fleetgc-archive -o ndjson",
  ],
  options: z.object({
    sql: withMeta(Text, {
      positional: true,
      placeholder: 'SQL',
      description: 'A SELECT, in the SQL of DuckDB.',
    }),
    archive: withMeta(Text, {
      placeholder: 'DIRECTORY|URL',
      description: 'Where the archive is: a directory, or s3://BUCKET/PREFIX.',
    }),
    ...s3Options,
    output: formatOption(
      ['table', 'ndjson'],
      `table for people, of the first ${MOST_ROWS} rows; ndjson for every row, one a line.`,
    ),
    check: withMeta(Switch.prefault('true'), {
      commandLineOnly: true,
      description:
        'Do not compare the files with the manifest first, which reads each of them whole. What comes from s3:// is always compared.',
    }),
  }),
  run: async ({ sql, archive, output, check, ...s3 }, { logger, progress, signal, write }) => {
    const { queryArchive } = await loadArchiveCode(
      () => import('../../../packages/archive/query-archive.ts'),
    );
    const onProgress = checkingProgress(progress);
    const rows = queryArchive({ place: archivePlace(archive, s3), sql, check, onProgress }, signal);
    if (output === 'ndjson') {
      for await (const row of rows) await write(`${jsonLine(row)}\n`);
      return;
    }
    const { first, hasMore } = await firstRows(rows);
    if (first.length > 0) await write(linesText(rowsTable(first)));
    if (first.length === 0) logger.info('There are no such rows.');
    if (hasMore) logger.warn(`there are more than ${MOST_ROWS} rows; -o ndjson gives them all`);
  },
});

async function firstRows<Row>(rows: AsyncIterable<Row>): Promise<{ first: Row[]; hasMore: boolean }> {
  const first: Row[] = [];
  for await (const row of rows) {
    if (first.length === MOST_ROWS) return { first, hasMore: true };
    first.push(row);
  }
  return { first, hasMore: false };
}

const rowsTable = (rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
  tableLines(
    Object.keys(rows[0] ?? {}),
    rows.map((row) => Object.values(row).map(cellText)),
  );

const cellText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
