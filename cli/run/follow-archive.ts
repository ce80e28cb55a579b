import type { ArchiveRun, FollowRequest, followLog } from '../../packages/archive/archive-log.ts';
import { dueWarnings, type RetentionWatch, watchRetention } from '../../packages/archive/retention-watch.ts';
import { lostText, retentionText } from '../../packages/documents/archive.ts';
import { TOPIC_NAMES } from '../../packages/log/partition.ts';
import type { LogReader } from '../../packages/log/port.ts';
import type { FleetGcError } from '../../packages/process/errors.ts';
import type { Metrics } from '../../packages/process/metrics.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';

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
