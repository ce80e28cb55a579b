import pino from 'pino';
import { expect, test } from 'vitest';
import { followArchive } from '../../cli/run/follow-archive.ts';
import type { FollowRequest } from '../../packages/archive/archive-log.ts';
import { retentionText } from '../../packages/documents/archive.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { Check } from '../../packages/process/http.ts';
import { createMetrics } from '../../packages/process/metrics.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { logOf } from '../packages/audit/support/archives.ts';

const HOUR_MS = 3_600_000;
const STATS = { topic: TOPICS.diskStats.name, partition: 3 };
const run = { records: 0, files: 0, lost: [], head: 'h', signed: null };
const { signal } = new AbortController();

/** An archiver that does what `acts` says, at a time that `acts` sets; what it told, and how well it was after each step. */
async function following(
  acts: (request: FollowRequest, setHours: (hours: number) => void) => AsyncGenerator<void>,
) {
  const logged: { level: number; msg: string }[] = [];
  const checks: Check[] = [];
  const problems: string[][] = [];
  const metrics = createMetrics();
  let nowMs = 0;
  const wait = async (ms: number): Promise<void> => {
    nowMs += ms;
  };
  const process = {
    log: logOf([]),
    metrics,
    logger: pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    sources: { ...systemSources, now: () => nowMs, wait },
    addCheck: (check: Check) => void checks.push(check),
  };
  const follow = async (request: FollowRequest): Promise<void> => {
    for await (const _ of acts(request, (hours) => (nowMs = hours * HOUR_MS)))
      problems.push(checks.flatMap((check) => check.problem() ?? []));
  };
  const settings = { place: '', everyMs: HOUR_MS, onRun: () => undefined, signer: null };
  await followArchive(follow, process, settings, signal);
  return { logged, problems, text: await metrics.text() };
}

test('an archive that falls behind is told of in time, at every step once, until it has caught up', async () => {
  const { logged, problems, text } = await following(async function* (request, setHours) {
    request.onReached?.(STATS, 0);
    setHours(11);
    await request.wait(0.5 * HOUR_MS, signal);
    yield;
    await request.wait(HOUR_MS, signal);
    yield;
    request.onReached?.(STATS, 12 * HOUR_MS);
    yield;
  });

  expect(logged.map(({ level, msg }) => [level, msg.slice(0, 60)])).toEqual([
    [40, 'gc.node.disk-stats: what came in the last 12 h may not be ar'],
  ]);
  expect(problems).toEqual([[], [expect.stringContaining('11 h are left')], []]);
  expect(text).toContain('fleetgc_archive_lag_seconds{topic="gc.node.disk-stats"} 1800');
  expect(text).toContain('fleetgc_archive_retention_left_seconds{topic="gc.node.disk-stats"} 84600');
});

test('a failure is a problem until the next pass, and what was lost is counted for good', async () => {
  const { logged, problems, text } = await following(async function* (request) {
    request.onFailure(new FleetGcError('LOG_FULL', 'no space is left'));
    request.onFailure(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
    request.onFailure(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
    yield;
    request.onRun({ ...run, lost: [{ ...STATS, firstOffset: 3n, lastOffset: 7n }] });
    yield;
  });

  expect(problems).toEqual([['no broker answers'], []]);
  expect(logged.map(({ level, msg }) => [level, msg])).toEqual([
    [40, 'Nothing is archived now, and it is tried again within a minute: no space is left'],
    [40, 'Nothing is archived until the event log is reached again'],
    [50, 'LOST: 5 records of gc.node.disk-stats/3, offsets 3 to 7'],
  ]);
  expect(text).toContain('fleetgc_archive_lost_records_total{topic="gc.node.disk-stats"} 5');
});

test('an archive that nobody could sign is a problem until it is signed', async () => {
  const { logged, problems } = await following(async function* (request) {
    request.onRun({ ...run, signed: { kind: 'failed', why: 'no root vouches for it' } });
    yield;
    request.onRun({ ...run, signed: { kind: 'signed' } });
    yield;
  });
  expect(problems).toEqual([[expect.stringContaining('no root vouches for it')], []]);
  expect(logged.map(({ level }) => level)).toEqual([50]);
});

const lag = (lagHours: number) => ({
  topic: TOPICS.diskStats.name,
  lagMs: lagHours * HOUR_MS,
  retentionMs: 24 * HOUR_MS,
  leftMs: (24 - lagHours) * HOUR_MS,
});

test.each([
  {
    hours: 13,
    says: 'what came in the last 13 h may not be archived yet, and the event log keeps it for 24 h; 11 h are left',
  },
  { hours: 23.5, says: '30 min are left' },
  { hours: 24, says: 'records may be lost already' },
])('$hours h of a day: $says', ({ hours, says }) => {
  expect(retentionText(lag(hours))).toContain(says);
});

test('of what is kept for ever there is nothing to say', () => {
  expect(retentionText({ ...lag(1), retentionMs: null, leftMs: null })).toBeNull();
});
