import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from '../../support/toolchain/command.ts';
import { ensurePromtool } from '../../support/toolchain/promtool.ts';
import { REPOSITORY } from '../files.ts';
import { ALERT_CASES, type AlertCase, MORE_CASES } from './alert-cases.ts';
import { RULE_FILES } from './rule-files.ts';

const CHECK_MS = 60_000;
const files = RULE_FILES.map((file) => join(REPOSITORY, file));

const firing = (alert: string): string => `count(ALERTS{alertname="${alert}",alertstate="firing"})`;

/** A test of promtool: whether the alert fires on these series. */
const testOf = (
  name: string,
  [alert, { at, ...series }]: readonly [string, AlertCase],
  on: 'fires' | 'quiet',
) => ({
  name: `${name} ${on}`,
  interval: '1m',
  input_series: Object.entries(series[on]).map(([of, values]) => ({ series: of, values })),
  promql_expr_test: [
    {
      expr: `${firing(alert)} > bool 0`,
      eval_time: `${at}m`,
      exp_samples: on === 'fires' ? [{ labels: '{}', value: 1 }] : [],
    },
  ],
});

async function play(cases: readonly (readonly [string, AlertCase])[]): Promise<string> {
  const file = join(temporaryDirectory(), 'rules.test.yaml');
  const tests = cases.flatMap((each) => [testOf(each[0], each, 'fires'), testOf(each[0], each, 'quiet')]);
  writeFileSync(file, stringify({ rule_files: files, evaluation_interval: '1m', tests }));
  return (await run(await ensurePromtool(), ['test', 'rules', file], { usualMs: CHECK_MS })).output;
}

test('promtool has nothing to say against the rules', async () => {
  const { output } = await run(await ensurePromtool(), ['check', 'rules', ...files], { usualMs: CHECK_MS });
  expect(output).not.toContain('FAILED');
});

test('each alert fires on its fault, and not without it', async () => {
  expect(await play([...Object.entries(ALERT_CASES), ...MORE_CASES])).toContain('SUCCESS');
});

test('a case that is wrong would be noticed', async () => {
  const { FleetgcNodesSilent: silent } = ALERT_CASES;
  if (silent === undefined) throw new Error('no such case');
  await expect(play([['FleetgcNodesSilent', { ...silent, fires: silent.quiet }]])).rejects.toThrow('FAILED');
});
