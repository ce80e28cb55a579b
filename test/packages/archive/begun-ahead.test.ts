import { expect, test } from 'vitest';
import { begunAhead } from '../../../packages/archive/begun-ahead.ts';

/** Begins numbers, and remembers how many are under way. */
function numbers() {
  const begun: number[] = [];
  const underWay = new Set<number>();
  return {
    begun,
    underWay,
    begin: async (number: number): Promise<number> => {
      begun.push(number);
      underWay.add(number);
      await Promise.resolve();
      underWay.delete(number);
      return number;
    },
  };
}

test.each([0, 1, 3])('%i ahead: all come in order, and no more are begun', async (ahead) => {
  const { begun, begin } = numbers();
  const seen: { readonly number: number; readonly begun: number }[] = [];
  for await (const number of begunAhead([1, 2, 3, 4, 5], ahead, begin))
    seen.push({ number, begun: begun.length });

  expect(seen).toEqual([1, 2, 3, 4, 5].map((number) => ({ number, begun: Math.min(number + ahead, 5) })));
});

test('whoever stops leaves nothing under way', async () => {
  const { underWay, begin } = numbers();
  for await (const number of begunAhead([1, 2, 3, 4, 5], 2, begin)) if (number === 2) break;
  expect(underWay.size).toBe(0);
});

test('what cannot be begun fails in its turn, and the others are waited for', async () => {
  const { underWay, begin } = numbers();
  const seen: number[] = [];
  const reading = async (): Promise<void> => {
    const failing = async (number: number) => {
      if (number === 3) throw new Error('three is missing');
      return await begin(number);
    };
    for await (const number of begunAhead([1, 2, 3, 4, 5], 2, failing)) seen.push(number);
  };
  await expect(reading()).rejects.toThrow('three is missing');
  expect(seen).toEqual([1, 2]);
  expect(underWay.size).toBe(0);
});
