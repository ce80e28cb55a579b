import { expect, test } from 'vitest';
import { z } from 'zod';
import { formatOption } from '../../../cli/framework/output.ts';
import { runGivenVerb } from '../../../cli/framework/run-verb.ts';
import { defineVerb } from '../../../cli/framework/verb.ts';
import { FakeProcess } from '../../support/fake-process.ts';

/** What a verb that takes three seconds for each of `steps` leaves on stderr and stdout, in order. */
async function slowly(steps: number, isTerminal: boolean, ...args: readonly string[]): Promise<string> {
  let written = '';
  let nowMs = 0;
  const body = defineVerb({
    examples: ['fleetgc slow'],
    options: z.object({ output: formatOption(['table', 'json'], 'table for people.') }),
    run: async (_, { progress, logger, print }) => {
      for (let step = 1; step <= steps; step += 1) {
        progress.report(() => `${step} of ${steps} steps`);
        nowMs += 3_000;
      }
      logger.warn('one was odd');
      progress.report(() => 'almost');
      print('result');
    },
  });
  const write = (text: string) => {
    written += text;
  };
  const exitCode = await runGivenVerb(
    { verb: { ...body, name: 'slow', summary: 'Slow.', kind: 'task' }, rest: args, allVerbs: async () => [] },
    {
      environment: {},
      control: new FakeProcess(),
      terminalColumns: null,
      monotonicNow: () => nowMs,
      writeOut: async (text) => write(text),
      stderr: { isTerminal, write },
    },
    'linux',
  );
  expect(exitCode).toBe(0);
  return written;
}

const CLEAR = '\r\u001b[2K';

test('on a terminal progress is shown at once, and each message takes its place', async () => {
  expect(await slowly(2, true)).toBe(
    `${CLEAR}1 of 2 steps …${CLEAR}2 of 2 steps …${CLEAR}warning: one was odd\n${CLEAR}almost …${CLEAR}result\n`,
  );
});

test('elsewhere progress is a line, the first one after five seconds', async () => {
  expect(await slowly(1, false)).toBe('warning: one was odd\nresult\n');
  expect(await slowly(4, false)).toBe('3 of 4 steps …\nwarning: one was odd\nalmost …\nresult\n');
});

test.each([true, false])('a program that reads JSON gets no progress (terminal: %s)', async (isTerminal) => {
  expect(await slowly(100, isTerminal, '-o', 'json')).toBe('warning: one was odd\nresult\n');
});
