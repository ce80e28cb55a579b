/** The runner behind `npm run compare:kcm`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sweepLeftovers, sweepOwn } from '../../test/support/cleanup.ts';
import { TESTCONTAINERS_SETTINGS } from '../../test/support/testcontainers-settings.ts';
import { ensureToolchain } from '../../test/support/toolchain/toolchain.ts';
import { buildCopy } from '../chaos/planted/plant.ts';
import { type Account, accountLines, accountOf } from './account.ts';
import { compareAll } from './campaign.ts';
import { type CompareOptions, HELP, parseOptions } from './options.ts';
import { PLANTED } from './planted.ts';
import { Deeds } from './sides/fleetgc.ts';
import { COMPARED_NAMES, type ComparedName, SUBJECTS } from './subjects.ts';
import { compareWithdrawn } from './withdrawn/compare-withdrawn.ts';

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

async function compared(
  options: CompareOptions,
  subjects: readonly ComparedName[],
  program: string,
  signal: AbortSignal,
): Promise<readonly Account[]> {
  const accounts: Account[] = [];
  for (const name of subjects) {
    const deeds = new Deeds();
    const isOneEnough = options.planted !== null;
    const campaign = { program, deeds, isOneEnough, tell };
    const found =
      name === 'withdrawn'
        ? await compareWithdrawn(campaign, options, signal)
        : await compareAll({ ...campaign, subject: SUBJECTS[name] }, options, signal);
    accounts.push(accountOf(name, found, deeds));
  }
  return accounts;
}

async function main({ options, bug }: Asked): Promise<void> {
  Object.assign(process.env, TESTCONTAINERS_SETTINGS);
  await ensureToolchain(['api-server', 'kube-controller-manager', 'request-cleaner']);
  await sweepLeftovers();
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stopped.abort());
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-compare-program-'));
  try {
    const subjects = options.subjects ?? (bug === null ? COMPARED_NAMES : [bug.subject]);
    const program = await buildCopy(bug, directory);
    const accounts = await compared(options, subjects, program, stopped.signal);
    const text = options.json
      ? JSON.stringify(accounts, null, 2)
      : accounts.flatMap((account) => accountLines(account)).join('\n');
    process.stdout.write(`${text}\n`);
    process.exitCode = exitCodeOf(accounts, options.planted !== null);
  } finally {
    rmSync(directory, { recursive: true, force: true });
    await sweepOwn();
  }
}

function exitCodeOf(accounts: readonly Account[], isPlanted: boolean): number {
  const isSame = accounts.every(({ verdicts }) => verdicts.different === 0);
  // A planted bug is to be found, and one seed is enough.
  if (isPlanted) return isSame ? 1 : 0;
  if (!isSame) return 1;
  return accounts.every(({ problems }) => problems.length === 0) ? 0 : 2;
}

function bugNamed(name: string | null) {
  if (name === null) return null;
  const bug = PLANTED.find((each) => each.name === name);
  if (bug !== undefined) return bug;
  throw new Error(`there is no bug ${name}; there are ${PLANTED.map((each) => each.name).join(', ')}`);
}

interface Asked {
  readonly options: CompareOptions;
  readonly bug: ReturnType<typeof bugNamed>;
}

/** `null` where there is nothing to play, after saying so. */
function asked(args: readonly string[]): Asked | null {
  try {
    const options = parseOptions(args);
    if (options !== null) return { options, bug: bugNamed(options.planted) };
    process.stdout.write(HELP);
  } catch (error) {
    tell(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    process.exitCode = 2;
  }
  return null;
}

try {
  const found = asked(process.argv.slice(2));
  if (found !== null) await main(found);
} catch (error) {
  tell(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 2;
}
