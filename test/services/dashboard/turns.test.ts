import { expect, test } from 'vitest';
import { Turns } from '../../../packages/read-model/follow.ts';

test('many who read the log let others have their turn as if they were one', async () => {
  let nowMs = 0;
  const turns = new Turns(() => nowMs);
  let asked = 0;
  let worked = 0;
  const ask = (): void => {
    asked += 1;
    if (asked < 10) setImmediate(ask);
  };
  setImmediate(ask);
  const read = async (): Promise<void> => {
    while (asked < 10) {
      nowMs += 1;
      worked += 1;
      await turns.give();
    }
  };
  await Promise.all(Array.from({ length: 12 }, read));
  // Of each turn, all of them together have fifteen milliseconds; each may be in the middle of one record.
  expect(worked).toBeLessThan(10 * (15 + 12));
});
