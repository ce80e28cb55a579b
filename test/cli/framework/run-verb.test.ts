import type { Logger } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runGivenVerb } from '../../../cli/framework/run-verb.ts';
import { defineVerb } from '../../../cli/framework/verb.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { FakeProcess } from '../../support/fake-process.ts';
import { inProcess } from '../fleetgc.ts';

/** What stands on stderr after a verb has told this. */
async function told(
  kind: 'task' | 'service',
  isTerminal: boolean,
  tell: (logger: Logger) => void,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const body = defineVerb({
    examples: ['fleetgc made'],
    options: z.object({}),
    run: async (_, { logger }) => tell(logger),
  });
  await runGivenVerb(
    {
      verb: { ...body, name: 'made', summary: 'Made for a test.', kind },
      rest: [],
      allVerbs: async () => [],
    },
    {
      environment: {},
      control: new FakeProcess(),
      terminalColumns: null,
      monotonicNow: () => 0,
      writeOut: async () => undefined,
      stderr: { isTerminal, write: (text) => void lines.push(text) },
    },
    'linux',
  );
  return lines;
}

test.each([
  ['task', false],
  ['service', true],
] as const)(
  'what others wrote rewrites nothing on a terminal that a %s tells it on',
  async (kind, isTerminal) => {
    const lines = await told(kind, isTerminal, (logger) => {
      logger.warn({ problem: 'of \u001b[2J\n' }, 'the name \u009b1A\u202e is odd\nand\u2028\tlong');
    });
    expect(lines.join('')).toMatch(
      /^[^\n]*the name \\u\{9b\}1A\\u\{202e\} is odd\\u\{a\}and\\u\{2028\}\\u\{9\}long[^\n]*of \\u\{1b\}\[2J\\u\{a\}\)?[^\n]*\n$/,
    );
  },
);

test.each([
  ['task', false],
  ['service', true],
] as const)('of what ends a %s only its own lines begin one', async (kind, isTerminal) => {
  const foreseen = await told(kind, isTerminal, () => {
    throw new FleetGcError('USAGE', ['2 problems:', '  of web\nFORGED', '  of \u0085FORGED']);
  });
  expect(foreseen.join('')).toBe('fleetgc made: 2 problems:\n  of web\\u{a}FORGED\n  of \\u{85}FORGED\n');
  const unforeseen = await told(kind, isTerminal, () => {
    throw new Error('of web\nFORGED', { cause: new Error('of a pod\nFORGED') });
  });
  const [first, second, ...frames] = unforeseen.join('').trimEnd().split('\n');
  expect([first, second]).toEqual(['fleetgc made: of web\\u{a}FORGED', '    Error: of web\\u{a}FORGED']);
  expect(frames.filter((frame) => !/^ {8}at /.test(frame))).toEqual([
    expect.stringMatching(/caused by: Error: of a pod\\u\{a\}FORGED$/),
  ]);
});

test('what a command line or its environment forges begins no line either', async () => {
  const { stderr } = await inProcess(['nodes', '--log\nFORGED', 'x'], {
    'FLEETGC_X\nFORGED': '1',
  });
  expect(stderr).not.toMatch(/^FORGED/m);
  expect(stderr).toContain('\\u{a}FORGED');
});

test('a service tells those who are no people JSON, whatever others wrote', async () => {
  const lines = await told('service', false, (logger) => logger.warn('\u001b\u202e'));
  expect(lines.map((line) => JSON.parse(line).msg)).toContain('\u001b\u202e');
});

test('a task says with what failed why it failed, and nothing else of the line', async () => {
  const lines = await told('task', false, (logger) => {
    logger.error({ problem: 'its disk is full', attempt: 2 }, 'the journal cannot be written');
    logger.warn({ problem: { code: 7 } }, 'something went on');
    logger.info('done');
  });
  expect(lines).toEqual([
    'the journal cannot be written (its disk is full)\n',
    'warning: something went on\n',
    'done\n',
  ]);
});
