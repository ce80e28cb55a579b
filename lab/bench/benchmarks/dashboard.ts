import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildPage } from '../../../bin/build-page.ts';
import { say } from '../context.ts';
import { type LargeFleet, writeLargeFleet } from '../dashboard/large-fleet.ts';
import { type LookedAt, lookAtPage } from '../dashboard/look-at-page.ts';
import type { Figure, Findings } from '../figure.ts';
import { spreadOf } from '../statistics.ts';

const FLEET = { nodes: 10_000, days: 14 };
const ROUNDS = 3;
const MILLISECONDS = { benchmark: 'dashboard', unit: 'ms' } as const;
const READ = join(import.meta.dirname, '..', 'dashboard', 'read-fleet.ts');
const BARE = join(import.meta.dirname, '..', 'dashboard', 'read-bytes.ts');

const Read = z.object({
  readMs: z.number(),
  firstNodesMs: z.number(),
  nodes: z.number(),
  cpuMs: z.number(),
  peakBytes: z.number(),
});
type Read = z.infer<typeof Read>;

/** The dashboard with ten thousand nodes: how soon it knows them, how soon the page shows them, and how soon it answers. */
export async function benchDashboard(): Promise<Findings> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  try {
    const log = join(directory, 'fleet.db');
    say(`dashboard: the log of ${FLEET.nodes} nodes is written`);
    const fleet: LargeFleet = { ...FLEET, endMs: Date.now() };
    const { records } = await writeLargeFleet(log, fleet);
    return {
      figures: [
        ...(await startFigures(directory, log, fleet)),
        ...(await pageFigures(directory, log, fleet)),
      ],
      notes: [
        `${FLEET.nodes} nodes, ${FLEET.days} days: ${records} records on an embedded log. Each node has statistics of the last four minutes with two hours of the past in them, an inventory of 50 images, and 5 removals a day.`,
        'What the dashboard needs to know all nodes is timed beside the same records, read and parsed as JSON, in turns and in processes of their own.',
        'The page is opened anew each round by Chromium; first paint is the time that the browser tells (first-contentful-paint). The baseline is the page of a dashboard of one node.',
        'An interaction is a letter in the filter, another order, the next page, or another grouping: from the event until the frame after it.',
      ],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function startFigures(
  directory: string,
  log: string,
  { endMs }: LargeFleet,
): Promise<readonly Figure[]> {
  const reads: Read[] = [];
  const bare: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`dashboard: start, round ${round} of ${ROUNDS}`);
    bare.push(z.object({ readMs: z.number() }).parse(await run(BARE, [log, String(endMs)])).readMs);
    const own = join(directory, `start-${round}`);
    mkdirSync(own);
    reads.push(Read.parse(await run(READ, [log, String(endMs), own])));
  }
  const baseline = spreadOf(bare);
  const figure = (name: string, of: (read: Read) => number) => ({
    ...MILLISECONDS,
    name,
    value: spreadOf(reads.map(of)),
    baseline,
    baselineName: 'reading and parsing the same records',
    samples: ROUNDS,
  });
  return [
    {
      ...figure('until all that is new is read', ({ readMs }) => readMs),
      aim: { kind: 'value-at-most', limit: 60_000 },
    },
    { ...figure('until the first nodes are there', ({ firstNodesMs }) => firstNodesMs), aim: null },
    {
      ...figure('memory', ({ peakBytes }) => Math.round(peakBytes / 2 ** 20)),
      unit: 'MiB',
      baseline: spreadOf([1]),
      baselineName: 'none',
      aim: null,
    },
  ];
}

async function run(script: string, args: readonly string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', script, ...args],
    { timeout: 600_000 },
  );
  return JSON.parse(stdout);
}

async function pageFigures(directory: string, log: string, fleet: LargeFleet): Promise<readonly Figure[]> {
  const pageDirectory = join(directory, 'page');
  mkdirSync(pageDirectory);
  await buildPage(pageDirectory);
  const small = join(directory, 'small.db');
  await writeLargeFleet(small, { ...fleet, nodes: 1, days: 1 });
  say('dashboard: the page is looked at');
  const [large, one] = [
    await lookAtPage({ log, endMs: fleet.endMs, pageDirectory, directory, rounds: 7, nodes: fleet.nodes }),
    await lookAtPage({ log: small, endMs: fleet.endMs, pageDirectory, directory, rounds: 7, nodes: 1 }),
  ];
  const figure = (name: string, of: (looked: LookedAt) => readonly number[], limit: number): Figure => ({
    ...MILLISECONDS,
    name,
    value: spreadOf(of(large)),
    baseline: spreadOf(of(one)),
    baselineName: 'the same with one node',
    samples: of(large).length,
    aim: { kind: 'value-at-most', limit },
  });
  return [
    figure('first paint', ({ firstPaintMs }) => firstPaintMs, 1_000),
    figure('until every node is shown', ({ shownMs }) => shownMs, 2_000),
    figure('an interaction', ({ interactionMs }) => interactionMs, 100),
    { ...figure('the slowest interaction of a round', ({ slowestMs }) => slowestMs, 100), aim: null },
    { ...figure('the answer of /api/fleet', ({ answerMs }) => answerMs, 100), aim: null },
  ];
}
