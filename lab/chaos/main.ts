/** The runner behind `npm run chaos`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sweepLeftovers } from '../../test/support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../../test/support/testcontainers-settings.ts';
import { ensureDocker } from '../../test/support/toolchain/docker.ts';
import { type Campaign, startCampaign } from './campaign.ts';
import type { Violation } from './judge/evidence.ts';
import { type ChaosOptions, HELP, parseOptions } from './options.ts';
import { buildCopy } from './planted/plant.ts';
import { PLANTED } from './planted/planted.ts';
import type { Outcome } from './round.ts';
import { readSchedule } from './schedule/read-schedule.ts';
import { drawSchedule, roundSeed, type Schedule, subjectOf } from './schedule/schedule.ts';
import { shrink } from './schedule/shrink.ts';

type Named = readonly [name: string, schedule: Schedule];

function schedulesOf(options: ChaosOptions): readonly Named[] {
  const { schedule, seed, rounds, planted, subject } = options;
  if (schedule !== null) return [['replayed', readSchedule(schedule)]];
  return Array.from({ length: rounds }, (_, index): Named => {
    const number = index + 1;
    const ofRound = roundSeed(seed, number);
    return [`${planted ?? seed}-${number}`, drawSchedule(ofRound, subject ?? subjectOf(ofRound))];
  });
}

/** Plays one round and tells of it. */
async function told(campaign: Campaign, [name, schedule]: Named): Promise<Outcome> {
  const outcome = await campaign.round(name, schedule);
  const { violations, problem, counts, settledMs, tookMs } = outcome;
  const line = { name, outcome: outcome.outcome, ...counts, settledMs, tookMs };
  const lines = [
    JSON.stringify(line),
    ...violations.map(({ invariant, node, text }) => `  ${invariant} ${node}: ${text}`),
    ...(problem === null ? [] : [`  ${problem}`]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return outcome;
}

interface Found {
  readonly named: Named;
  readonly violation: Violation;
}

/** Whether every round held. Of a planted bug, and where a violation is to be shrunk, one is enough. */
async function runAll(
  campaign: Campaign,
  options: ChaosOptions & { readonly schedules: readonly Named[] },
  signal: AbortSignal,
): Promise<boolean> {
  const left = options.schedules.values();
  const isOneEnough = options.planted !== null || options.shrink;
  const found: Found[] = [];
  let allHeld = true;
  const lane = async (): Promise<void> => {
    for (const named of left) {
      if (signal.aborted || (isOneEnough && found.length > 0)) return;
      const { outcome, violations } = await told(campaign, named);
      allHeld &&= outcome === 'held';
      const [violation] = violations;
      if (violation) found.push({ named, violation });
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
  const [first] = found;
  const path = join(dirname(options.out), 'shrunk.json');
  if (first && options.shrink) await shrinkTo(path, campaign, first.named, first.violation.invariant);
  return allHeld && !signal.aborted;
}

async function shrinkTo(
  path: string,
  campaign: Campaign,
  [name, schedule]: Named,
  invariant: string,
): Promise<void> {
  let tries = 0;
  const shortest = await shrink(schedule, async (shorter) => {
    tries += 1;
    const { violations } = await told(campaign, [`${name}-shrinking-${tries}`, shorter]);
    return violations.some((violation) => violation.invariant === invariant);
  });
  writeFileSync(path, `${JSON.stringify(shortest, null, 2)}\n`);
  process.stdout.write(`${shortest.faults.length} of ${schedule.faults.length} faults are left: ${path}\n`);
}

/** A copy of this checkout, as built as in production: it stays what it is, whatever is edited meanwhile. */
async function programOf({ planted }: ChaosOptions, directory: string): Promise<string> {
  // What starts a dozen times a round is compiled once.
  process.env.NODE_COMPILE_CACHE = join(directory, 'compiled');
  if (planted === null) return buildCopy(null, directory);
  const bug = PLANTED.find(({ name }) => name === planted);
  if (bug) return buildCopy(bug, directory);
  throw new Error(`there is no bug ${planted}; there are ${PLANTED.map(({ name }) => name).join(', ')}`);
}

async function main(options: ChaosOptions): Promise<void> {
  const schedules = schedulesOf(options);
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  await ensureDocker();
  await sweepLeftovers();
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stopped.abort());
  const { out, keepAll, lanes } = options;
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-chaos-program-'));
  try {
    const program = await programOf(options, directory);
    await using campaign = await startCampaign({ program, out, keepAll, lanes, signal: stopped.signal });
    const held = await runAll(campaign, { ...options, schedules }, stopped.signal);
    // A planted bug is to be found.
    process.exitCode = held === (options.planted === null) ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function optionsOrNull(): ChaosOptions | null {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${textOf(error)}\n\n${HELP}`);
    return null;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const options = optionsOrNull();
if (options === null) process.exitCode = 2;
else if (options.help) process.stdout.write(HELP);
else
  try {
    await main(options);
  } catch (error) {
    process.stderr.write(`${textOf(error)}\n`);
    process.exitCode = 2;
  }
