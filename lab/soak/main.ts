/** The runner behind `npm run soak`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOPICS } from '../../schemas/events/topics.ts';
import { sweepOwn } from '../../test/support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../../test/support/testcontainers-settings.ts';
import { ensureToolchain } from '../../test/support/toolchain/toolchain.ts';
import { say } from '../bench/context.ts';
import { recordsOf } from '../bench/kafka.ts';
import { thisMachine } from '../bench/report.ts';
import { buildCopy } from '../chaos/planted/plant.ts';
import { type SoakFleet, startSoakFleet } from './fleet.ts';
import { HELP, parseOptions, type SoakOptions } from './options.ts';
import { rowsOf, tableOf } from './report.ts';
import { AllSeries } from './series.ts';

const LOOK_EVERY_MS = 10_000;
/** Every so many looks is a longer one. */
const LONGER_EVERY = 3;
const MINUTE_MS = 60_000;
const COUNTED = [
  'diskStats',
  'inventory',
  'observe',
  'commands',
  'results',
  'decisions',
  'deadLetters',
] as const;
/** What a node publishes of itself in a day in which nothing happens: one reading a minute, one inventory in five. */
const QUIET_DAY = { diskStats: 1_440, inventory: 288 } as const;

type Counts = Readonly<Record<(typeof COUNTED)[number], number>>;

async function soak(options: SoakOptions, signal: AbortSignal): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-soak-'));
  try {
    const program = await buildCopy(null, join(directory, 'program'));
    await using fleet = await startSoakFleet({ program, directory, ...options, signal });
    say(`warming up for ${options.warmUpMinutes} min`);
    await sleep(options.warmUpMinutes * MINUTE_MS, undefined, { signal });
    return await looked(fleet, options, signal);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function looked(fleet: SoakFleet, options: SoakOptions, signal: AbortSignal): Promise<boolean> {
  const startedAt = new Date().toISOString();
  const before = await countsOf(fleet);
  const series = new AllSeries(fleet);
  const beganMs = performance.now();
  const lastsMs = options.minutes * MINUTE_MS;
  for (let look = 0; look * LOOK_EVERY_MS < lastsMs; look += 1) {
    const atMs = performance.now() - beganMs;
    if (look % LONGER_EVERY === 0) await series.lookLonger(atMs);
    series.look(atMs);
    await sleep(Math.max(0, (look + 1) * LOOK_EVERY_MS - (performance.now() - beganMs)), undefined, {
      signal,
    });
  }
  const counts = await countsOf(fleet);
  const rows = rowsOf(series);
  const ended = fleet.parts.filter(({ part }) => part.starts() > 1).map(({ part }) => part.name);
  const went = Object.fromEntries(COUNTED.map((topic) => [topic, counts[topic] - before[topic]]));
  say(`\n${tableOf(rows)}\n`);
  const days = Object.entries(QUIET_DAY).map(
    ([topic, count]) => `${((went[topic] ?? 0) / options.nodes / count).toFixed(1)} days of ${topic}`,
  );
  say(`on the log: ${JSON.stringify(went)}; for each node that is ${days.join(', ')}`);
  if (ended.length > 0) say(`ended by themselves: ${ended.join(', ')}`);
  const report = { startedAt, machine: thisMachine(), options, went, ended, rows };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return ended.length === 0 && rows.every(({ verdict }) => verdict === 'flat');
}

async function countsOf({ kafka }: SoakFleet): Promise<Counts> {
  const of = async (topic: (typeof COUNTED)[number]): Promise<number> => recordsOf(kafka, TOPICS[topic].name);
  const [diskStats, inventory, observe, commands, results, decisions, deadLetters] = await Promise.all([
    of('diskStats'),
    of('inventory'),
    of('observe'),
    of('commands'),
    of('results'),
    of('decisions'),
    of('deadLetters'),
  ]);
  return { diskStats, inventory, observe, commands, results, decisions, deadLetters };
}

async function main(options: SoakOptions): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopped.abort());
  await ensureToolchain(['kafka']);
  process.exitCode = (await soak(options, stopped.signal).finally(sweepOwn)) ? 0 : 1;
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

function optionsGiven(): SoakOptions | null {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    process.exit(2);
  }
}

try {
  const options = optionsGiven();
  if (options === null) process.stdout.write(HELP);
  else await main(options);
} catch (error) {
  say(textOf(error));
  process.exitCode = 2;
}
