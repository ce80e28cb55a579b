import { expect, test } from 'vitest';
import { z } from 'zod';
import { runVerb } from '../../../cli/framework/run-verb.ts';
import { defineVerb, ProgressLine } from '../../../cli/framework/verb.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { WholeNumber } from '../../../packages/process/options/options.ts';
import { runProcess } from '../../../packages/process/run.ts';
import { FakeProcess } from '../../support/fake-process.ts';
import { logLines, parsedLines } from '../../support/log-lines.ts';

const SHUTDOWN_LIMIT_MS = 5_000;

function start(body: (signal: AbortSignal) => Promise<void>, endless = true) {
  const control = new FakeProcess();
  const out = logLines();
  const logger = createLogger({ service: 'x', level: 'info' }, out);
  const ended = runProcess(body, { logger, control, shutdownLimitMs: SHUTDOWN_LIMIT_MS, endless });
  return { control, ended, messages: () => parsedLines(out.lines) };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

test('ends with 0 when the body returns, and listens to nothing any more', async () => {
  const { control, ended } = start(async () => undefined);
  expect(await ended).toBe(0);
  expect(control.listening).toBe(0);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s asks the body to stop, and an orderly stop is 0',
  async (signal) => {
    const { control, ended } = start(untilAborted);
    control.signal(signal);
    expect(await ended).toBe(0);
    expect(control.exitCodes).toEqual([]);
    expect(control.listening).toBe(0);
  },
);

const cutOff = async (signal: AbortSignal): Promise<void> => {
  await untilAborted(signal);
  signal.throwIfAborted();
};
const saysSo = async (signal: AbortSignal): Promise<void> => {
  await untilAborted(signal);
  throw new FleetGcError('INTERRUPTED', 'stopped before everything was read');
};

test.each([
  { signal: 'SIGINT', exitCode: 130, body: cutOff, says: 'stopped before it was done' },
  { signal: 'SIGTERM', exitCode: 143, body: cutOff, says: 'stopped before it was done' },
  { signal: 'SIGINT', exitCode: 130, body: saysSo, says: 'stopped before everything was read' },
  { signal: 'SIGTERM', exitCode: 143, body: saysSo, says: 'stopped before everything was read' },
] as const)(
  'work with an end that $signal cut off was not done: $exitCode, "$says"',
  async ({ signal, exitCode, body, says }) => {
    const { control, ended, messages } = start(body, false);
    control.signal(signal);
    expect(await ended).toBe(exitCode);
    expect(messages().at(-1)).toMatchObject({ level: 'fatal', code: 'INTERRUPTED', msg: says });
  },
);

test('an interruption that nobody asked for is a failure', async () => {
  const { ended } = start(async () => {
    throw new FleetGcError('INTERRUPTED', 'stopped before everything was read');
  });
  expect(await ended).toBe(130);
});

test.each([cutOff, saysSo])(
  'of what runs until it is stopped work that was cut off is no failure',
  async (body) => {
    const { control, ended } = start(body);
    control.signal('SIGTERM');
    expect(await ended).toBe(0);
  },
);

test('a service that was cut off by the stop is no failure', async () => {
  const { control, ended } = start(async (signal) => {
    await untilAborted(signal);
    signal.throwIfAborted();
  });
  control.signal('SIGTERM');
  expect(await ended).toBe(0);
});

test('a failure while stopping is a failure', async () => {
  const { control, ended, messages } = start(async (signal) => {
    await untilAborted(signal);
    throw new FleetGcError('STATE_UNWRITABLE', 'the journal could not be written');
  });
  control.signal('SIGTERM');
  expect(await ended).toBe(1);
  expect(messages().at(-1)).toMatchObject({ level: 'fatal', code: 'STATE_UNWRITABLE' });
});

test('a second signal ends the process at once', async () => {
  const { control } = start(() => new Promise<never>(() => undefined));
  control.signal('SIGINT');
  control.signal('SIGINT');
  expect(control.exitCodes).toEqual([130]);
});

test('a stop that takes longer than the limit ends the process and says so', async () => {
  const { control, messages } = start(() => new Promise<never>(() => undefined));
  control.signal('SIGTERM');
  control.pass(SHUTDOWN_LIMIT_MS - 1);
  expect(control.exitCodes).toEqual([]);
  control.pass(SHUTDOWN_LIMIT_MS);
  expect(control.exitCodes).toEqual([1]);
  expect(messages().at(-1)).toMatchObject({ level: 'fatal', code: 'TIMEOUT' });
});

test('no time limit holds before a signal', () => {
  const { control } = start(() => new Promise<never>(() => undefined));
  control.pass(1e9);
  expect(control.exitCodes).toEqual([]);
});

test('a foreseen failure is one line without a stack, and its exit code', async () => {
  const { ended, messages } = start(async () => {
    throw new FleetGcError('CONFIG_INVALID', 'no such topic');
  });
  expect(await ended).toBe(2);
  expect(messages()).toEqual([
    { level: 'fatal', time: expect.any(String), service: 'x', code: 'CONFIG_INVALID', msg: 'no such topic' },
  ]);
});

test('a failure that nobody foresaw keeps its stack', async () => {
  const { ended, messages } = start(async () => {
    throw new TypeError('x is not a function');
  });
  expect(await ended).toBe(1);
  expect(messages()).toEqual([
    expect.objectContaining({
      code: 'INTERNAL',
      msg: 'x is not a function',
      err: expect.objectContaining({ stack: expect.stringContaining('TypeError') }),
    }),
  ]);
});

test('what is thrown outside of every await ends the process', () => {
  const { control, messages } = start(() => new Promise<never>(() => undefined));
  control.fault(new Error('lost'));
  expect(control.exitCodes).toEqual([1]);
  expect(messages()).toEqual([expect.objectContaining({ level: 'fatal', msg: 'lost' })]);
});

const greet = {
  name: 'greet',
  summary: 'Says hello.',
  kind: 'task',
  ...defineVerb({
    examples: ['fleetgc greet'],
    options: z.object({ times: WholeNumber.prefault('1') }),
    run: async ({ times }, { print, logger }) => {
      logger.info('greeting');
      for (let i = 0; i < times; i++) print('hello');
    },
  }),
} as const;

const runGreet = async (flags: Record<string, string>) => {
  const stderr = logLines(true);
  const stdout: string[] = [];
  const outside = {
    control: new FakeProcess(),
    stderr,
    print: (line: string) => stdout.push(line),
    write: async (text: string) => void stdout.push(text),
    terminalColumns: null,
    progress: new ProgressLine(stderr, () => 0),
    allVerbs: async () => [],
    warnings: [],
    endless: false,
  };
  const exitCode = await runVerb(greet, { flags, environment: {}, file: null }, outside);
  return { exitCode, stdout, stderr: stderr.lines };
};

test('a verb writes results to stdout and its log to stderr', async () => {
  const { exitCode, stdout, stderr } = await runGreet({ times: '2' });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: ['hello', 'hello'] });
  expect(stderr).toEqual([expect.stringContaining('greeting')]);
});

test('a wrong option is one sentence and exit code 2', async () => {
  expect(await runGreet({ times: 'often' })).toEqual({
    exitCode: 2,
    stdout: [],
    stderr: ['fleetgc greet: --times must be a whole number, not "often"\n'],
  });
});

test('the log level is an option of every verb', async () => {
  expect(await runGreet({ logLevel: 'error' })).toMatchObject({ stderr: [], stdout: ['hello'] });
});
