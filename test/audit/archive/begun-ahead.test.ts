import { expect, test } from 'vitest';
import { begunAhead } from '../../../services/audit/archive/begun-ahead.ts';

/** Begins numbers, and remembers which are open. */
function numbers() {
  const begun: number[] = [];
  const open = new Set<number>();
  return {
    begun,
    open,
    begin: async (number: number) => {
      begun.push(number);
      open.add(number);
      return { number, [Symbol.dispose]: () => void open.delete(number) };
    },
  };
}

test.each([0, 1, 3])(
  '%i ahead: all come in order, and each is closed when the next is used',
  async (ahead) => {
    const { begun, open, begin } = numbers();
    const seen: { readonly number: number; readonly begun: number; readonly open: number[] }[] = [];
    for await (const { number } of begunAhead([1, 2, 3, 4, 5], ahead, begin))
      seen.push({ number, begun: begun.length, open: [...open] });

    expect(seen.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(seen.map((one) => one.begun)).toEqual(
      [1, 2, 3, 4, 5].map((number) => Math.min(number + ahead, 5)),
    );
    expect(seen.map((one) => Math.min(...one.open))).toEqual([1, 2, 3, 4, 5]);
    expect(open.size).toBe(0);
  },
);

test('whoever stops leaves nothing open', async () => {
  const { open, begin } = numbers();
  for await (const { number } of begunAhead([1, 2, 3, 4, 5], 2, begin)) if (number === 2) break;
  expect(open.size).toBe(0);
});

test('what cannot be begun fails in its turn, and the others are closed', async () => {
  const { open, begin } = numbers();
  const seen: number[] = [];
  const reading = async (): Promise<void> => {
    const failing = async (number: number) => {
      if (number === 3) throw new Error('three is missing');
      return await begin(number);
    };
    for await (const { number } of begunAhead([1, 2, 3, 4, 5], 2, failing)) seen.push(number);
  };
  await expect(reading()).rejects.toThrow('three is missing');
  expect(seen).toEqual([1, 2]);
  expect(open.size).toBe(0);
});
