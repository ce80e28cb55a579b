import { expect, test } from 'vitest';
import { z } from 'zod';
import { runGivenVerb } from '../../../cli/framework/run-verb.ts';
import { defineVerb } from '../../../cli/framework/verb.ts';
import { FakeProcess } from '../../support/fake-process.ts';

test('a task says with what failed why it failed, and nothing else of the line', async () => {
  const told: string[] = [];
  const body = defineVerb({
    examples: ['fleetgc made'],
    options: z.object({}),
    run: async (_, { logger }) => {
      logger.error({ problem: 'its disk is full', attempt: 2 }, 'the journal cannot be written');
      logger.warn({ problem: { code: 7 } }, 'something went on');
      logger.info('done');
    },
  });
  const exitCode = await runGivenVerb(
    {
      verb: { ...body, name: 'made', summary: 'Made for a test.', kind: 'task' },
      rest: [],
      allVerbs: async () => [],
    },
    {
      environment: {},
      control: new FakeProcess(),
      terminalColumns: null,
      writeOut: async () => undefined,
      stderr: { isTerminal: false, write: (text) => void told.push(text) },
    },
  );

  expect(exitCode).toBe(0);
  expect(told).toEqual([
    'the journal cannot be written (its disk is full)\n',
    'warning: something went on\n',
    'done\n',
  ]);
});
