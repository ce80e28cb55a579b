import { expect, test } from 'vitest';
import { Refused } from '../../../services/dashboard/api/answer.ts';
import { LogReaders } from '../../../services/dashboard/bounds.ts';

const ENDING = new AbortController().signal;

test('one person cannot have all the places of what is looked up, and has them again when it is done', async () => {
  const readers = new LogReaders(ENDING);
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const ask = (person: string) => readers.read(person, () => held.then(() => person));
  const first = Array.from({ length: 8 }, () => ask('ann'));
  expect(await ask('ann')).toBeInstanceOf(Refused);
  const other = ask('bob');
  letGo();
  expect(await other).toBe('bob');
  expect(await Promise.all(first)).toEqual(first.map(() => 'ann'));
  expect(await ask('ann')).toBe('ann');
});

test('what fails gives its place back', async () => {
  const readers = new LogReaders(ENDING);
  const fail = () => readers.read('ann', () => Promise.reject(new Error('away')));
  for (let asked = 0; asked < 30; asked += 1) await expect(fail()).rejects.toThrow('away');
});
