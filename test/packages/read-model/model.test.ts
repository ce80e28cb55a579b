import pino from 'pino';
import { expect, test } from 'vitest';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Turns } from '../../../packages/read-model/follow.ts';
import { keepFollowing } from '../../../packages/read-model/model.ts';

test('an event log that stays away is tried again and again, and each thing that is wrong with it is told once', async () => {
  const wrong = ['it is away', 'it is away', 'it is away', 'it refuses the login', 'it refuses the login'];
  const ending = new AbortController();
  const told: string[] = [];
  const logger = pino({}, { write: (line: string) => void told.push(JSON.parse(line).problem) });
  let tries = 0;
  const projection = {
    isOfThisLog: async () => true,
    beginAnew: () => undefined,
    run: async () => {
      const problem = wrong[tries++];
      if (problem !== undefined) throw new FleetGcError('LOG_UNREACHABLE', problem);
      ending.abort();
    },
  };
  await keepFollowing(projection, { logger, wait: async () => undefined }, ending.signal);
  expect(tries).toBe(wrong.length + 1);
  expect(told).toEqual(['it is away', 'it refuses the login']);
});

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
