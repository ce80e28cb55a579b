import { expect, test } from 'vitest';
import { tableLines } from '../../../packages/documents/text.ts';

test('a table may have any number of lines', () => {
  const rows = Array.from({ length: 600_000 }, () => ['a']);
  expect(tableLines(['ONE'], rows)).toHaveLength(600_001);
});

test('a cell of any length makes its own line longer, and the others no longer than a screen or two', () => {
  const [header, long, short] = tableLines(
    ['ONE', 'TWO'],
    [
      ['x'.repeat(1_000_000), 'b'],
      ['a', 'b'],
    ],
  );
  expect(long).toBe(`${'x'.repeat(1_000_000)}   b`);
  expect([header?.length, short?.length]).toEqual([306, 304]);
});
