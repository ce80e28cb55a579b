export interface SuiteRow {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** The summary: one row for each suite, and the totals as the last line. */
export function summary(rows: readonly SuiteRow[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length), 5);
  const line = (name: string, ...cells: readonly string[]): string =>
    [name.padEnd(width), ...cells.map((cell) => cell.padStart(7))].join('  ');
  const total = (key: 'passed' | 'failed'): number => rows.reduce((sum, row) => sum + row[key], 0);
  return [
    line('suite', 'passed', 'failed', 'seconds'),
    ...rows.map(({ name, passed, failed, seconds }) =>
      line(name, `${passed}`, `${failed}`, seconds.toFixed(1)),
    ),
    '',
    `${total('passed')} passed, ${total('failed')} failed`,
  ].join('\n');
}
