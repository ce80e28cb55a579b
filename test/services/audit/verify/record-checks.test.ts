import { expect, test } from 'vitest';
import { RecordChecks } from '../../../../services/audit/verify/record-checks.ts';
import { at, findings } from './support.ts';

test('records that are missing between two are a gap, topic by topic', () => {
  const { collector, gaps } = findings();
  const offsets = new RecordChecks(collector);
  for (const offset of [3, 4, 6, 6, 9]) offsets.follow(at('results', offset));
  for (const offset of [0, 1]) offsets.follow(at('commands', offset));
  expect(gaps()).toEqual(['records-missing 4,6', 'records-missing 6,9']);
});
