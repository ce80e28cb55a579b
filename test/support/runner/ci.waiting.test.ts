import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../temporary-directory.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', '..', '.ci', 'run');
const TABLE = 'suite  passed  failed\nunit        1       0\n\n';

interface Run {
  readonly says: string;
  readonly exits?: number;
}

/** Runs `.ci/run` of a checkout in which `npm` does as it is told. */
function ci(runs: { readonly ci?: Run; readonly core: Run; readonly world: Run }) {
  const checkout = temporaryDirectory();
  for (const folder of ['.ci', 'bin']) mkdirSync(join(checkout, folder));
  copyFileSync(SCRIPT, join(checkout, '.ci', 'run'));
  const npm = join(checkout, 'bin', 'npm');
  const branch = (words: string, { says, exits = 0 }: Run): string =>
    `'${words}') printf '%s' '${says}'; exit ${exits};;`;
  const branches = [
    branch('ci', runs.ci ?? { says: 'added 1 package\n' }),
    branch('test', runs.core),
    branch('run test:world', runs.world),
  ];
  writeFileSync(npm, `#!/bin/sh\ncase "$*" in\n${branches.join('\n')}\nesac\n`);
  chmodSync(npm, 0o755);
  const PATH = [join(checkout, 'bin'), process.env.PATH ?? ''].join(delimiter);
  const { status, stdout } = spawnSync(join(checkout, '.ci', 'run'), { env: { PATH }, encoding: 'utf8' });
  const counts = stdout.split('\n').filter((line) => /^\d+ passed, \d+ failed$/.test(line));
  return { status, counts, isLast: stdout.trimEnd().endsWith(counts.at(-1) ?? 'no counts') };
}

const GOOD: Run = { says: `${TABLE}7 passed, 0 failed\n` };

test.each([
  {
    name: 'both pass',
    core: GOOD,
    world: { says: '2 passed, 0 failed\n' },
    gives: { status: 0, line: '9 passed, 0 failed' },
  },
  {
    name: 'the core fails',
    core: { says: `${TABLE}5 passed, 2 failed\n`, exits: 1 },
    world: GOOD,
    gives: { status: 1, line: '12 passed, 2 failed' },
  },
  {
    name: 'the world fails',
    core: GOOD,
    world: { says: '0 passed, 1 failed\n', exits: 1 },
    gives: { status: 1, line: '7 passed, 1 failed' },
  },
  {
    name: 'one says nothing and calls it a success',
    core: { says: '' },
    world: GOOD,
    gives: { status: 1, line: '7 passed, 1 failed' },
  },
  {
    name: 'one is ended before its counts',
    core: GOOD,
    world: { says: TABLE, exits: 137 },
    gives: { status: 1, line: '7 passed, 1 failed' },
  },
  {
    name: 'one ends badly though nothing failed',
    core: { ...GOOD, exits: 1 },
    world: GOOD,
    gives: { status: 1, line: '14 passed, 1 failed' },
  },
  {
    name: 'one ends with something else than its counts',
    core: { says: '7 passed, 0 failed\nbut then\n' },
    world: GOOD,
    gives: { status: 1, line: '7 passed, 1 failed' },
  },
  {
    name: 'nothing can be installed',
    ci: { says: 'no network\n', exits: 1 },
    core: GOOD,
    world: GOOD,
    gives: { status: 1, line: '0 passed, 1 failed' },
  },
])('.ci/run ends with one line for both runs: $name', ({ gives, ...runs }) => {
  const { status, counts, isLast } = ci(runs);

  expect(counts.at(-1)).toBe(gives.line);
  expect(isLast).toBe(true);
  expect(status).toBe(gives.status);
});

test('where both count, their own closing lines do not stand beside it', () => {
  expect(ci({ core: GOOD, world: GOOD }).counts).toEqual(['14 passed, 0 failed']);
});
