import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ArchiveRun } from '../../packages/archive/archive-log.ts';
import { type ArchiveFindings, checkArchive } from '../../packages/archive/check-archive.ts';
import { findingsLines, findingsNdjson, runLines, runValue } from '../../packages/documents/archive.ts';
import { tableLines } from '../../packages/documents/text.ts';
import { HOUR_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { type Address, Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import { randomTraceIds } from '../../packages/process/system-sources.ts';
import { counted } from '../../packages/text/counted.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { linesText } from '../../packages/text/lines-text.ts';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { loadArchiveCode } from '../framework/audit-log.ts';
import { openServiceOn } from '../framework/open-service.ts';
import { formatOption, formatResult, type PartedFormat, partedOutputOptions } from '../framework/output.ts';
import { openTaskEventLog, requireEventLogFile } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import {
  type ArchiveSigning,
  archivePlace,
  archiveSigner,
  archiveSigningOptions,
  type S3Options,
  s3Options,
  s3WritingOptions,
} from '../options/archive-options.ts';
import { httpOptions } from '../options/common-options.ts';
import {
  type EventLogChoice,
  eventLogOptions,
  forAsking,
  readEventLogSettings,
} from '../options/event-log-options.ts';
import { checkingProgress, readingProgress } from '../run/audit-progress.ts';
import { followArchive } from '../run/follow-archive.ts';

/** @limit Shortest `--every` of `audit archive`. */
const LEAST_EVERY_MS = 10_000;
/** @limit Longest `--every` of `audit archive`. */
const MOST_EVERY_MS = 6 * HOUR_MS;

const Every = z.string().transform((text, context) => {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= LEAST_EVERY_MS && ms <= MOST_EVERY_MS) return ms;
  context.addIssue({ code: 'custom', message: 'must be a duration from 10s to 6h, such as 15m' });
  return z.NEVER;
});

export const archiveVerb = defineVerb({
  help: [
    'Copies everything from the end of the archive to the current end of the event log. Each record is archived once, even if a run was killed. Run it at least every few hours, or keep it running with --follow: disk statistics and orders stay on the event log for only a day. If records were deleted before they could be archived, the archive notes a gap.',
    'With --follow it warns, on stderr and at /readyz, when records that wait to be archived may be older than half of the retention of their topic, and says how long is left.',
    'The last line of output is the head of the archive. Keep it somewhere else: with it "audit archive check --head" proves that nothing before it was changed or removed since.',
    'Exit codes: 0 archived, or told to stop with --follow, 1 failed, or records were lost (with --follow it goes on after a loss), 2 wrong options, 130 or 143 stopped before the end of the event log.',
  ],
  examples: [
    'fleetgc audit archive --to /srv/fleetgc-archive --kafka-brokers kafka:9092',
    'fleetgc audit archive --to archive --log embedded',
    'fleetgc audit archive --to s3://audit/fleetgc --s3-region eu-central-1 --kafka-brokers kafka:9092',
    'fleetgc audit archive --follow --to /srv/fleetgc-archive --every 1h --kafka-brokers kafka:9092',
  ],
  options: z.object({
    to: withMeta(Text, {
      commandLineOnly: true,
      placeholder: 'DIRECTORY|URL',
      description: 'Where the archive is, or is to be: a directory, or s3://BUCKET/PREFIX.',
    }),
    follow: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Go on until told to stop, and warn before retention deletes what is not archived yet.',
    }),
    every: withMeta(Every.prefault('1h'), {
      commandLineOnly: true,
      placeholder: 'DURATION',
      description: 'With --follow: how often to archive what came. Less often makes fewer, larger files.',
    }),
    ...partedOutputOptions('a pass'),
    ...s3WritingOptions,
    ...archiveSigningOptions,
    ...httpOptions(9648),
    ...eventLogOptions('kafka'),
  }),
  checkFlags: ({ follow }, flags) => {
    const useless = (['every', 'httpAddress'] as const).find((key) => !follow && flags[key] !== undefined);
    if (useless !== undefined)
      throw new FleetGcError('USAGE', `--${useless === 'every' ? 'every' : 'http-address'} is for --follow`);
  },
  run: async ({ follow, ...options }, context) => {
    if (follow) await runFollowing(options, context);
    else await runOnce(options, context);
  },
});

interface ArchiveOptions extends EventLogChoice, ArchiveSigning, S3Options {
  readonly to: string;
  readonly every: number;
  readonly output: PartedFormat;
  readonly httpAddress: Address | null;
}

async function runOnce({ to, output, ...options }: ArchiveOptions, context: VerbContext) {
  const { progress, signal, write } = context;
  const place = archivePlace(to, options);
  const { archiveTo } = await loadArchiveCode(() => import('../../packages/archive/archive-log.ts'));
  await using log = await openTaskEventLog({ options, context });
  const onProgress = readingProgress(progress);
  const signer = await archiveSigner(options, { log, now: Date.now, ids: randomTraceIds }, signal);
  const run = await archiveTo({ log, place, now: Date.now, newId: randomUUID, onProgress, signer }, signal);
  // A run that was interrupted before it archived anything cannot say whether there was anything to archive.
  if (!signal.aborted || run.records > 0) await write(runText(run, output));
  if (signal.aborted)
    throw new FleetGcError(
      'INTERRUPTED',
      'stopped before the end of the event log; the next run goes on from here',
    );
  requireNothingLost(run);
  requireSigned(run);
}

async function runFollowing(options: ArchiveOptions, { logger, signal, write }: VerbContext) {
  const { to, every: everyMs, output, httpAddress } = options;
  const place = archivePlace(to, options);
  const { followLog } = await loadArchiveCode(() => import('../../packages/archive/archive-log.ts'));
  const service = 'audit-archive';
  const settings = readEventLogSettings(options, { clientId: `fleetgc-${service}`, readTextFile });
  requireEventLogFile(settings);
  const trust = { kind: 'off' } as const;
  const needs = { service, eventLog: forAsking(settings), trust, httpAddress, logger };
  await using process = await openServiceOn(needs);
  const onRun = (run: ArchiveRun): void => {
    logger.info({ records: run.records, files: run.files, head: run.head }, 'archived');
    if (run.records + run.lost.length > 0) void write(runText(run, output));
  };
  const { traceIds: ids, now } = process.sources;
  const signer = await archiveSigner(options, { log: process.log, now, ids }, signal);
  await followArchive(followLog, process, { place, everyMs, onRun, signer }, signal);
}

const runText = (run: ArchiveRun, output: ArchiveOptions['output']): string =>
  output === 'ndjson'
    ? `${jsonLine(runValue(run))}\n`
    : formatResult(output, { value: runValue(run), lines: runLines(run) });

/** Throws `KEY_UNUSABLE`: the records are archived, but not signed. */
function requireSigned({ signed }: ArchiveRun): void {
  if (signed?.kind !== 'failed') return;
  throw new FleetGcError('KEY_UNUSABLE', `archived, but the archive could not be signed: ${signed.why}`);
}

/** Throws `ARCHIVE_GAP`. */
function requireNothingLost({ lost }: ArchiveRun): void {
  if (lost.length === 0) return;
  const records = lost.reduce((sum, range) => sum + range.lastOffset - range.firstOffset + 1n, 0n);
  throw new FleetGcError(
    'ARCHIVE_GAP',
    `${counted(records, 'record was', 'records were')} deleted from the event log before being archived. The archive says where; run "fleetgc audit archive" more often than the retention of the topics, of which the shortest is a day, or let it run on with --follow`,
  );
}

const Head = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' });

export const checkVerb = defineVerb({
  help: [
    'Reads every file of the archive and compares it with the manifest, whose lines are chained by their hashes. Anyone with write access to the archive can forge a new chain or truncate it. Only a head that is kept elsewhere reveals that.',
    'Exit codes: 0 unchanged, 1 a deviation, 2 wrong options.',
  ],
  examples: [
    'fleetgc audit archive check --archive /srv/fleetgc-archive',
    'fleetgc audit archive check --archive /srv/fleetgc-archive --head "$(cat noted-head)"',
  ],
  options: z.object({
    archive: withMeta(Text, {
      placeholder: 'DIRECTORY|URL',
      description: 'Where the archive is: a directory, or s3://BUCKET/PREFIX.',
    }),
    ...s3Options,
    head: withMeta(Head.optional(), {
      commandLineOnly: true,
      placeholder: 'SHA256',
      description: 'A head that was noted earlier: all up to there must still be in the archive.',
    }),
    ...partedOutputOptions('a finding'),
  }),
  run: async ({ archive, head = null, output, ...s3 }, { progress, signal, write }) => {
    const onProgress = checkingProgress(progress);
    const findings = await checkArchive(
      { place: archivePlace(archive, s3), expectedHead: head, onProgress },
      signal,
    );
    await write(
      output === 'ndjson'
        ? findingsNdjson(findings)
        : formatResult(output, { value: findings, lines: findingsLines(findings) }),
    );
    requireUntouched(findings);
  },
});

/** Throws `ARCHIVE_CHANGED`. */
function requireUntouched({ deviations }: ArchiveFindings): void {
  if (deviations.length === 0) return;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `${counted(deviations.length, 'deviation')}: the archive is not as it was written. Find out who may write to it, and take it from a copy`,
  );
}

/** Of a table; there is no end to what a query may give. */
const MOST_ROWS = 1_000;

export const queryVerb = defineVerb({
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
    const { queryArchive } = await loadArchiveCode(() => import('../../packages/archive/query-archive.ts'));
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
