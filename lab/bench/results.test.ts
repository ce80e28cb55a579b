import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { type Measured, pageOf, Report } from './report.ts';
import { openResults, pagePath } from './results-file.ts';

const RESULTS = join(import.meta.dirname, 'figures', 'results.json');

const measured = (name: string, median: number): Measured => ({
  startedAt: '2026-01-02T03:04:05.000Z',
  seconds: 7,
  machine: { cpu: 'a processor', cores: 2, memoryGib: 4, kernel: '6.1', node: 'v24.0.0' },
  figures: [
    {
      benchmark: name,
      name: 'latency',
      unit: 'ms',
      value: { median, lowest: 0.5, highest: 1234.5 },
      baseline: { median: 2, lowest: 1, highest: 3 },
      baselineName: 'relay',
      samples: 3,
      aim: { kind: 'ratio-at-most', limit: 2 },
    },
  ],
  notes: ['as it is'],
});

test('the page of the last results says what the file says', () => {
  expect(readFileSync(pagePath(RESULTS), 'utf8')).toBe(
    pageOf(Report.parse(JSON.parse(readFileSync(RESULTS, 'utf8')))),
  );
});

test('a benchmark that is measured again replaces its own results alone, in the file and on the page', () => {
  const path = join(temporaryDirectory(), 'results.json');
  openResults(path).put('one', measured('one', 3));
  openResults(path).put('two', measured('two', 5));
  openResults(path).put('one', measured('one', 9));

  const { benchmarks } = Report.parse(JSON.parse(readFileSync(path, 'utf8')));
  expect(Object.values(benchmarks).map(({ figures }) => figures[0]?.value.median)).toEqual([9, 5]);
  const page = readFileSync(pagePath(path), 'utf8');
  expect(page).toContain('## one\n\n2026-01-02, 2 cores (a processor), 4 GiB, Linux 6.1, Node v24.0.0; 7 s.');
  expect(page).toContain(
    '| latency, ms | 9.0 (0.50 to 1235) | 2.0 (1.0 to 3.0) relay | 4.50 | at most 2x | **no** |',
  );
});

test('a file that holds something else is left alone', () => {
  const path = join(import.meta.dirname, '..', '..', 'package.json');
  expect(() => openResults(path)).toThrow(/package\.json holds no results of benchmarks; name another file/);
});
