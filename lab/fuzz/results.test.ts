import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import type { Account } from './engine/fuzz.ts';
import { addResult, sumOf, sumsIn, tableOf } from './results.ts';
import { TARGETS } from './targets/targets.ts';

const account = (over: Partial<Account>): Account => ({
  runs: 1_000,
  passed: 450,
  blocks: 20,
  corpus: 5,
  crashes: 0,
  effects: 0,
  tooSlow: 0,
  slowestMs: 3.2,
  mostWork: 100,
  tookMs: 500,
  ...over,
});

test('runs of a target add up, over ends of the process', () => {
  const file = join(temporaryDirectory(), 'results.jsonl');
  expect(sumsIn(file).size).toBe(0);
  addResult(file, 'keys', 1, account({}));
  addResult(file, 'cri', 1, account({ runs: 7, passed: 7 }));
  addResult(file, 'keys', 2, account({ passed: 351, blocks: 19, slowestMs: 8.1, crashes: 1 }));
  expect(sumOf(file, 'keys')).toMatchObject({ times: 2, runs: 2_000, passed: 801, blocks: 20, crashes: 1 });
  expect(tableOf(sumsIn(file), ['cri', 'keys', 'heads']).slice(2)).toEqual([
    '| `cri` | 7 | 100 % | 20 | 5 | 4 ms | 0 | 0 |',
    '| `keys` | 2,000 | 40 % | 20 | 5 | 9 ms | 1 | 0 |',
  ]);
});

test('the page about fuzzing has what the kept campaign adds up to, and nothing was found in it', () => {
  const sums = sumsIn(join(import.meta.dirname, 'campaign.jsonl'));
  const page = readFileSync(join(import.meta.dirname, '../../docs/how-it-works/fuzz.md'), 'utf8');
  expect(page).toContain(`${tableOf(sums, [...TARGETS.keys()]).join('\n')}\n`);
  for (const [target, { crashes, effects }] of sums)
    expect({ target, crashes, effects }).toEqual({ target, crashes: 0, effects: 0 });
});
