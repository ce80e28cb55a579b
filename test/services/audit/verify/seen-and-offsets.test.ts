import { expect, test } from 'vitest';
import { ComparedRepetitions } from '../../../../services/audit/events/repetitions.ts';
import { RecordChecks } from '../../../../services/audit/verify/record-checks.ts';
import { at, findings } from './support.ts';

test('an id is there for the first time, again with the same content, or with another', () => {
  const seen = new ComparedRepetitions();
  const first = at('results', 0);
  expect(seen.sighting('id', first)).toEqual({ kind: 'first' });
  expect(seen.sighting('id', at('results', 1))).toEqual({ kind: 'same' });
  expect(seen.sighting('id', at('results', 2, 0, { value: Buffer.from('{"other":1}') }))).toMatchObject({
    kind: 'other',
    before: { offset: '0' },
  });
  expect(seen.sighting('other id', at('results', 3))).toEqual({ kind: 'first' });
});

test('only the oldest id is forgotten when there are too many', () => {
  const seen = new ComparedRepetitions(2);
  for (const [offset, id] of ['a', 'b', 'c'].entries()) seen.sighting(id, at('results', offset));
  expect(seen.sighting('b', at('results', 3)).kind).toBe('same');
  expect(seen.sighting('c', at('results', 4)).kind).toBe('same');
  expect(seen.sighting('a', at('results', 5)).kind).toBe('first');
});

test('records that are missing between two are a gap, topic by topic', () => {
  const { collector, gaps } = findings();
  const offsets = new RecordChecks(collector);
  for (const offset of [3, 4, 6, 6, 9]) offsets.follow(at('results', offset));
  for (const offset of [0, 1]) offsets.follow(at('commands', offset));
  expect(gaps()).toEqual(['records-missing 4,6', 'records-missing 6,9']);
});
