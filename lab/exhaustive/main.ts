/** Searches the executor and two replicas through: `--whole` for three objects and all that may happen; `--planted` for the ten bugs. */
import { parseArgs } from 'node:util';
import type { Explored } from './explore.ts';
import { findPlanted } from './planted/find-planted.ts';
import { PLANTED } from './planted/planted.ts';
import { LONGER, QUICK, type Search, WHOLE } from './searches.ts';

const { values } = parseArgs({
  options: {
    whole: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    // For a process with a bug in it: the first violation is enough, and only one of the worlds is to find it.
    first: { type: 'boolean', default: false },
    of: { type: 'string' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const told = ({ states, interleavings, runs, moves, tookMs, isComplete }: Explored): string =>
  `${states} states, ${interleavings} interleavings, ${runs} runs, ${moves} moves, ${tookMs} ms${isComplete ? '' : ' (not complete)'}`;

/** Whether all of it was searched and nothing was wrong. */
async function search({ name, explore }: Search): Promise<boolean> {
  const explored = await explore({ stopAtFirst: values.first });
  say(`${name}: ${told(explored)}`);
  for (const { problem, path } of explored.violations) say(`  ${problem}: ${path.join(', ')}`);
  return explored.isComplete && explored.violations.length === 0;
}

async function searchAll(searches: readonly Search[]): Promise<boolean> {
  let isWell = true;
  for (const one of searches) {
    isWell = (await search(one)) && isWell;
    if (values.first && !isWell) break;
  }
  return isWell;
}

async function searchPlanted(): Promise<boolean> {
  let found = 0;
  for (const bug of PLANTED) {
    const problem = await findPlanted(bug);
    say(`${bug.name}: ${problem ?? 'NOT FOUND'}`);
    if (problem !== null) found += 1;
  }
  say(`${found} of ${PLANTED.length} found`);
  return found >= PLANTED.length - 1;
}

const asked = (values.whole ? WHOLE : [...QUICK, ...LONGER]).filter(
  ({ of }) => values.of === undefined || values.of === of,
);
process.exitCode = (await (values.planted ? searchPlanted() : searchAll(asked))) ? 0 : 1;
