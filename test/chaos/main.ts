/** The runner behind `npm run chaos`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sweepLeftovers } from '../support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../support/testcontainers-settings.ts';
import { type Campaign, startCampaign } from './campaign.ts';
import { type ChaosOptions, HELP, parseOptions } from './options.ts';
import { drawSchedule, roundSeed, Schedule } from './schedule/schedule.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'fleetgc');

function schedulesOf({ schedule, seed, rounds }: ChaosOptions): readonly (readonly [string, Schedule])[] {
  if (schedule !== null) return [['replayed', Schedule.parse(JSON.parse(readFileSync(schedule, 'utf8')))]];
  return Array.from({ length: rounds }, (_, index) => {
    const number = index + 1;
    return [`${seed}-${number}`, drawSchedule(roundSeed(seed, number))] as const;
  });
}

async function runAll(campaign: Campaign, options: ChaosOptions): Promise<boolean> {
  let isWell = true;
  for (const [name, schedule] of schedulesOf(options)) {
    const outcome = await campaign.round(name, schedule);
    const { violations, problem, counts, settledMs, tookMs } = outcome;
    process.stdout.write(
      `${JSON.stringify({ name, outcome: outcome.outcome, ...counts, settledMs, tookMs })}\n`,
    );
    for (const { invariant, node, text } of violations)
      process.stdout.write(`  ${invariant} ${node}: ${text}\n`);
    if (problem !== null) process.stdout.write(`  ${problem}\n`);
    isWell &&= outcome.outcome === 'held';
  }
  return isWell;
}

async function main(options: ChaosOptions): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  await sweepLeftovers();
  await using campaign = await startCampaign({
    program: PROGRAM,
    out: options.out,
    keepAll: options.keepAll,
  });
  process.exitCode = (await runAll(campaign, options)) ? 0 : 1;
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(HELP);
  else await main(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  process.exitCode = 2;
}
