import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { say } from '../../context.ts';
import type { Figure } from '../../figure.ts';
import { DAY_MS } from '../../month/month.ts';
import { LOG_MAX_BYTES, type WrittenMonth } from '../../month/write-month.ts';
import { spreadOf } from '../../statistics.ts';
import { FLEETGC, type TimedRun, timedRun } from '../../timed-run.ts';

const ROUNDS = 3;
/** Days of the month that are verified: memory has to be the same for both. */
const SHORT_DAYS = 1;
const LONG_DAYS = 4;
/** As of `fleetgc audit verify`. */
const THREADS = Math.min(2, availableParallelism());
const READER = join(import.meta.dirname, '..', '..', 'processes', 'read-log.ts');

interface Days {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Options that name what is verified. */
type Source = readonly string[];

/** `fleetgc audit verify` beside merely reading and parsing the same records, in turns. */
export async function verifyFigures(path: string, month: WrittenMonth): Promise<readonly Figure[]> {
  const [short, long] = [lastDays(month, SHORT_DAYS), lastDays(month, LONG_DAYS)];
  const runs: Record<'read' | 'readAlone' | 'verified' | 'shorter', TimedRun[]> = {
    read: [],
    readAlone: [],
    verified: [],
    shorter: [],
  };
  const log = embedded(path);
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`audit verify, round ${round} of ${ROUNDS}`);
    runs.readAlone.push(await read(path, long, 1));
    runs.verified.push(await verify(log, long));
    runs.read.push(await read(path, long, THREADS));
    runs.shorter.push(await verify(log, short));
  }
  const records = recordsIn(runs.verified);
  const rate = (of: readonly TimedRun[]) => spreadOf(of.map(({ wallMs }) => (records * 1000) / wallMs));
  const seconds = (of: readonly TimedRun[]) => spreadOf(of.map(({ wallMs }) => wallMs / 1000));
  const cpuSeconds = (of: readonly TimedRun[]) => spreadOf(of.map(({ cpuMs }) => cpuMs / 1000));
  const common = { benchmark: 'audit', samples: ROUNDS, aim: null } as const;
  const alike = `reads and parses, ${THREADS} threads`;
  return [
    {
      ...common,
      name: `verify, ${LONG_DAYS} days of ${month.nodes} nodes, ${THREADS} threads`,
      unit: 's',
      value: seconds(runs.verified),
      baseline: seconds(runs.read),
      baselineName: alike,
    },
    {
      ...common,
      name: 'the same, to one thread that reads',
      unit: 's',
      value: seconds(runs.verified),
      baseline: seconds(runs.readAlone),
      baselineName: 'reads and parses, one thread',
      aim: { kind: 'ratio-at-most', limit: 1.7 },
    },
    {
      ...common,
      name: 'the same, processor time',
      unit: 's',
      value: cpuSeconds(runs.verified),
      baseline: cpuSeconds(runs.read),
      baselineName: alike,
    },
    {
      ...common,
      name: 'the same, records a second',
      unit: 'records/s',
      value: rate(runs.verified),
      baseline: rate(runs.read),
      baselineName: alike,
    },
    {
      ...common,
      name: `verify, peak memory, ${LONG_DAYS} days`,
      unit: 'MB',
      value: megabytes(runs.verified),
      baseline: megabytes(runs.shorter),
      baselineName: `${SHORT_DAYS} day`,
      aim: { kind: 'value-at-most', limit: 300 },
    },
  ];
}

/** The same from the archive of that month. */
export async function verifiedArchiveFigures(
  archive: Source,
  month: WrittenMonth,
): Promise<readonly Figure[]> {
  const [short, long] = [lastDays(month, SHORT_DAYS), lastDays(month, LONG_DAYS)];
  const runs: Record<'verified' | 'shorter', TimedRun[]> = { verified: [], shorter: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`audit verify of the archive, round ${round} of ${ROUNDS}`);
    runs.verified.push(await verify(archive, long));
    runs.shorter.push(await verify(archive, short));
  }
  return [
    {
      benchmark: 'audit',
      name: `verify from the archive, peak memory, ${LONG_DAYS} days`,
      unit: 'MB',
      value: megabytes(runs.verified),
      baseline: megabytes(runs.shorter),
      baselineName: `${SHORT_DAYS} day`,
      samples: ROUNDS,
      aim: { kind: 'value-at-most', limit: 300 },
    },
  ];
}

const megabytes = (of: readonly TimedRun[]) => spreadOf(of.map(({ peakBytes }) => peakBytes / 1e6));

const lastDays = ({ endMs }: WrittenMonth, days: number): Days => ({
  fromMs: endMs - days * DAY_MS,
  toMs: endMs,
});

const read = (path: string, range: Days, threads: number): Promise<TimedRun> => {
  const settings = { path, maxBytes: LOG_MAX_BYTES, threads, ...range };
  return timedRun(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    READER,
    JSON.stringify(settings),
  ]);
};

const verify = (source: Source, { fromMs, toMs }: Days): Promise<TimedRun> =>
  timedRun(FLEETGC, [
    ...['audit', 'verify', '-o', 'json', '--threads', String(THREADS)],
    ...['--from', new Date(fromMs).toISOString(), '--to', new Date(toMs).toISOString()],
    ...source,
  ]);

/** Options that name the log of a month. */
export const embedded = (path: string): Source => [
  ...['--log', 'embedded', '--log-path', path, '--log-max-size', String(LOG_MAX_BYTES)],
];

function recordsIn([run]: readonly TimedRun[]): number {
  const verification: { counts: { records: number } } = JSON.parse(run?.output ?? '');
  return verification.counts.records;
}
