import { expect, test } from 'vitest';
import { memoize } from '../../../packages/process/memoize.ts';

function counted() {
  const asked: string[] = [];
  const answer = memoize((text: string): string | undefined => {
    asked.push(text);
    return text === '' ? undefined : text.toUpperCase();
  });
  return { asked, answer };
}

test('what was asked before is not worked out again, also where the answer is nothing', () => {
  const { asked, answer } = counted();
  expect([answer('a'), answer(''), answer('a'), answer('')]).toEqual(['A', undefined, 'A', undefined]);
  expect(asked).toEqual(['a', '']);
});

test('it does not remember without end', () => {
  const { asked, answer } = counted();
  for (let number = 0; number <= 20_000; number += 1) answer(`text ${number}`);
  answer('text 0');
  expect(asked.filter((text) => text === 'text 0')).toHaveLength(2);
});
