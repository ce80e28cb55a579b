import { expect, test } from 'vitest';
import { ComparedRepetitions, Repetitions } from '../../../../packages/audit/events/record-reader.ts';
import { at } from '../verify/support.ts';

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

test('whoever asks for ids alone is told the same', () => {
  const seen = new Repetitions(2);
  expect(['a', 'b', 'a', 'c', 'b', 'a'].map((id) => seen.isFirst(id))).toEqual([
    true,
    true,
    false,
    true,
    false,
    true,
  ]);
});
