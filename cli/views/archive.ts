import type {
  ArchiveRun,
  FollowRequest,
  followLog,
  LostRecords,
} from '../../packages/archive/archive-log.ts';
import type { ArchiveFindings } from '../../packages/archive/check-archive.ts';
import {
  dueWarnings,
  type RetentionWatch,
  type TopicLag,
  watchRetention,
} from '../../packages/archive/retention-watch.ts';
import type { SignedPass } from '../../packages/archive/sign-head.ts';
import { TOPIC_NAMES } from '../../packages/log/partition.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { HOUR_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import type { FleetGcError } from '../../packages/process/errors.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { counted } from '../../packages/text/counted.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { jsonLine } from '../framework/output.ts';

/** What `-o json` shows of a run; offsets as text. */
export const runValue = ({ records, files, lost, head, signed }: ArchiveRun) => ({
  records,
  files,
  lost: lost.map((range) => ({
    ...range,
    firstOffset: String(range.firstOffset),
    lastOffset: String(range.lastOffset),
  })),
  head,
  signed,
});

export const runLines = ({ records, files, lost, head, signed }: ArchiveRun): readonly string[] => [
  ...lost.map(lostText),
  records === 0
    ? 'nothing new to archive'
    : `${counted(records, 'record')} archived in ${counted(files, 'file')}`,
  ...(signed === null ? [] : [signedText(signed)]),
  `head of the archive: ${head}`,
];

function signedText(signed: SignedPass): string {
  switch (signed.kind) {
    case 'signed':
      return 'signed';
    case 'unchanged':
      return 'signed before';
    case 'failed':
      return `NOT SIGNED: ${printableLine(signed.why)}`;
  }
}

/** What retention deleted before it was archived. */
const lostText = ({ topic, partition, firstOffset, lastOffset }: LostRecords): string =>
  `LOST: ${counted(lastOffset - firstOffset + 1n, 'record')} of ${topic}/${partition}, offsets ${firstOffset} to ${lastOffset}`;

export const findingsLines = (findings: ArchiveFindings): readonly string[] => {
  const { deviations, gaps, unfinished, files, records, sizeBytes, head } = findings;
  return [
    ...(deviations.length === 0 ? ['As it was written.'] : []),
    ...deviations.map((deviation) => `DEVIATION: ${printableLine(deviation)}`),
    ...gaps.map(
      ({ topic, partition, firstOffset, lastOffset, notedAtMs }) =>
        `gap: ${topic}/${partition}, offsets ${firstOffset} to ${lastOffset} were deleted from the event log before they were archived (noted ${timeText(notedAtMs)})`,
    ),
    ...unfinished.map((file) => `unfinished: ${printableLine(file)}; "fleetgc audit archive" clears it away`),
    `${counted(records, 'record')} in ${counted(files, 'file')}, ${sizeText(BigInt(sizeBytes))}`,
    `head of the archive: ${head ?? 'none'}`,
  ];
};

/** A line for each finding, and one for all that was counted. */
export const findingsNdjson = ({ deviations, gaps, unfinished, ...counts }: ArchiveFindings): string =>
  [
    ...deviations.map((message) => ({ finding: 'deviation', message })),
    ...gaps.map((gap) => ({ finding: 'gap', ...gap })),
    ...unfinished.map((file) => ({ finding: 'unfinished', file })),
    {
      finding: 'summary',
      ...counts,
      deviations: deviations.length,
      gaps: gaps.length,
      unfinished: unfinished.length,
    },
  ]
    .map((line) => `${jsonLine(line)}\n`)
    .join('');

interface FollowSettings extends Pick<FollowRequest, 'signer'> {
  readonly place: FollowRequest['place'];
  readonly everyMs: number;
  /** Tells what a pass did. */
  readonly onRun: (run: ArchiveRun) => void;
}

/** What it needs of the process that it runs in. */
interface FollowProcess extends Pick<ServiceProcess, 'logger' | 'metrics' | 'sources' | 'addCheck'> {
  readonly log: LogReader;
}

/** How often the retention of topics is looked at while the archiver waits. */
const LOOK_EVERY_MS = 60_000;

/** Runs the archiver in a process of its own until the signal aborts: logs, counts, and says when it is not well. */
export async function followArchive(
  follow: typeof followLog,
  { log, logger, metrics, sources, addCheck }: FollowProcess,
  { onRun, ...settings }: FollowSettings,
  signal: AbortSignal,
): Promise<void> {
  const { now, wait, newId } = sources;
  const retention = watchRetention();
  const counts = archiveCounts(metrics, retention, now);
  let failure: FleetGcError | null = null;
  let unsigned: string | null = null;
  const look = (): void => {
    for (const lag of retention.nearer(now())) logger.warn({ ...lag }, retentionText(lag) ?? '');
  };
  addCheck({ name: 'archive', problem: () => failure?.message ?? null });
  addCheck({ name: 'head', problem: () => unsigned });
  addCheck({ name: 'retention', problem: () => nearText(retention, now()) });
  await follow(
    {
      ...settings,
      log,
      now,
      newId,
      wait: async (ms, waiting) => {
        const untilMs = now() + ms;
        while (now() < untilMs && !waiting.aborted) {
          look();
          await wait(Math.min(LOOK_EVERY_MS, untilMs - now()), waiting);
        }
      },
      onProgress: look,
      onReached: retention.reached,
      onFile: ({ topic, rows }) => counts.archived.add({ topic }, rows),
      onRun: (run) => {
        failure = null;
        unsigned =
          run.signed?.kind === 'failed' ? `the archive could not be signed: ${run.signed.why}` : null;
        if (unsigned !== null) logger.error(unsigned);
        for (const lost of run.lost) {
          counts.lost.add({ topic: lost.topic }, Number(lost.lastOffset - lost.firstOffset + 1n));
          logger.error(lostText(lost));
        }
        onRun(run);
      },
      onFailure: (error) => {
        reportFailure(logger, error, failure);
        failure = error;
        look();
      },
    },
    signal,
  );
}

/** That the log is away the log itself tells, once; so its reason stands beside. */
function reportFailure(
  logger: FollowProcess['logger'],
  error: FleetGcError,
  before: FleetGcError | null,
): void {
  const { code, message } = error;
  if (code !== 'LOG_UNREACHABLE' && code !== 'LOG_UNAUTHORIZED')
    logger.warn({ code }, `Nothing is archived now, and it is tried again within a minute: ${message}`);
  else if (before?.code !== code)
    logger.warn({ code, problem: message }, 'Nothing is archived until the event log is reached again');
}

function nearText(retention: RetentionWatch, nowMs: number): string | null {
  const near = retention.lags(nowMs).filter((lag) => dueWarnings(lag) > 0);
  return near.length === 0 ? null : near.map(retentionText).join('; ');
}

function archiveCounts(metrics: Metrics, retention: RetentionWatch, now: () => number) {
  const labels = { topic: TOPIC_NAMES };
  metrics.gauge('archive_lag_seconds', 'Nothing older than this waits to be archived.', ['topic'], () =>
    retention.lags(now()).map(({ topic, lagMs }) => [{ topic }, lagMs / 1000]),
  );
  metrics.gauge(
    'archive_retention_left_seconds',
    'Until retention deletes the oldest record that may wait to be archived.',
    ['topic'],
    () =>
      retention
        .lags(now())
        .flatMap(({ topic, leftMs }) => (leftMs === null ? [] : [[{ topic }, leftMs / 1000]])),
  );
  return {
    archived: metrics.count('archive_records_total', 'Records that were archived.', labels),
    lost: metrics.count(
      'archive_lost_records_total',
      'Records that retention deleted before they were archived.',
      labels,
    ),
  };
}

const HOURS_REPORTED = 48;

/** `90 min`, `13 h` or `9 d`: as near as a warning needs it. */
function roughly(durationMs: number): string {
  const hours = durationMs / HOUR_MS;
  if (hours < 2) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  return hours < HOURS_REPORTED ? `${Math.floor(hours)} h` : `${Math.floor(hours / 24)} d`;
}

/** That retention may overtake the archive: where, how long is left, and what to do. `null` where nothing is at stake. */
export function retentionText({ topic, lagMs, retentionMs, leftMs }: TopicLag): string | null {
  if (retentionMs === null || leftMs === null) return null;
  const lag = `${topic}: what came in the last ${roughly(lagMs)} may not be archived yet, and the event log keeps it for ${roughly(retentionMs)}`;
  const left = leftMs > 0 ? `${roughly(leftMs)} are left` : 'records may be lost already';
  return `${lag}; ${left}. See what holds the archiver up (its other warnings, its disk, the broker), or keep the topic longer (retention.ms) until it has caught up`;
}
