import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { embeddedLog, readiness } from '../cli/service-options.ts';
import { startVerb } from '../cli/service-process.ts';
import { mostSeries, rows, told } from '../docs/told-metrics.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/toolchain/command.ts';
import { ensurePromtool } from '../support/toolchain/promtool.ts';

const CHECK_MS = 30_000;
/** With what the page of metrics calls them. */
const SERVICES: readonly (readonly [called: string, words: readonly string[]])[] = [
  ['decide', ['decide']],
  ['node', ['simulate-node', '--cluster', 'test', '--node-name', 'node-1']],
  ['audit archive', ['audit', 'archive', '--follow', '--to', 'ARCHIVE']],
];

/** What promtool has to say of metrics; rejects with it where it is no small matter. */
async function checkMetrics(text: string): Promise<string> {
  const file = join(temporaryDirectory(), 'metrics');
  writeFileSync(file, text);
  const check = [`exec "$1" check metrics < "$2"`, 'sh', await ensurePromtool(), file];
  return (await run('sh', ['-c', ...check], { usualMs: CHECK_MS })).output;
}

test.each(SERVICES)('promtool has nothing to say against the metrics of %s', async (called, words) => {
  const directory = join(temporaryDirectory(), 'archive');
  const args = words.map((word) => word.replace('ARCHIVE', directory));
  const running = startVerb(...args, ...(await embeddedLog()));
  await readiness(running, { status: 200, says: 'ready' });

  const { text } = await running.get('/metrics');

  expect(text).toContain('# TYPE process_cpu_seconds_total counter');
  expect(await checkMetrics(text)).toBe('');
  expect(untold(text)).toEqual([]);
  expect(text.match(/^fleetgc_/gm)?.length).toBeLessThanOrEqual(mostSeries.get(called) ?? 0);
  expect(await running.terminate()).toBe(0);
});

/** Labels, and values of labels, that the page of metrics does not have. */
const untold = (text: string): readonly string[] =>
  [...text.matchAll(/^([a-z_]+)\{(.*)\} /gm)].flatMap(([, series = '', pairs = '']) => {
    const name = series.replace(/_(bucket|sum|count)$/, '');
    const row = rows.find((each) => each.name === series) ?? rows.find((each) => each.name === name);
    return [...pairs.matchAll(/([a-z_]+)="([^"]*)"/g)]
      .filter(([, label = '']) => label !== 'le')
      .filter(([, label = '', value = '']) => {
        const values = told.get(`${row?.name} ${label}`);
        return row?.labels.includes(label) !== true || (values !== undefined && !values.includes(value));
      })
      .map(([pair]) => `${series} ${pair}`);
  });

test('it would say so', async () => {
  const wrong = '# HELP fleetgc_x_total X.\n# TYPE fleetgc_x_total gauge\nfleetgc_x_total 1\n';

  await expect(checkMetrics(wrong)).rejects.toThrow('non-counter metrics should not have "_total" suffix');
});
