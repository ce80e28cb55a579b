import { expect, test } from 'vitest';
import { Ownership } from '../../schemas/events/ownership.ts';
import { candidate, owner, ownership } from '../fixtures/ownership.ts';

const isRead = (value: unknown): boolean => Ownership.safeParse(value).success;

test('a fact about owners is read, with what a newer agent adds left away', () => {
  const fact = ownership({ candidates: [candidate({ references: [owner('o')] })] });
  expect(Ownership.parse({ ...fact, later: true })).toEqual(fact);
});

test.each([
  ['501 candidates', { candidates: Array.from({ length: 501 }, () => candidate()) }],
  [
    '201 references',
    { candidates: [candidate({ references: Array.from({ length: 201 }, () => owner('o')) })] },
  ],
  [
    '102 finalizers',
    { candidates: [candidate({ object: { finalizers: Array.from({ length: 102 }, () => 'f') } })] },
  ],
  ['a name of 321 characters', { candidates: [candidate({ object: { name: 'x'.repeat(321) } })] }],
  ['no name', { candidates: [candidate({ object: { name: '' } })] }],
  ['a uid of 129 characters', { candidates: [candidate({ object: { uid: 'x'.repeat(129) } })] }],
  ['a cluster with a slash', { cluster: 'a/b' }],
])('%s: it is not read', (_, over) => {
  expect(isRead(ownership())).toBe(true);
  expect(isRead({ ...ownership(), ...over })).toBe(false);
});
