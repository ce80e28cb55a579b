import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { runCli } from '../../cli/run-cli.ts';
import { FakeProcess } from '../support/fake-process.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT, UNSIGNED_FLEET } from '../support/program.ts';
import { waitUntil } from '../support/wait-until.ts';

export const BOUND_MS = 20_000;

/** What a service has written so far. */
interface Output {
  stdout: string;
  stderr: string;
}

/** A verb that runs until it is told to stop, on a port that the system chose. */
export interface RunningVerb {
  readonly output: Readonly<Output>;
  get(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Asks it to stop; resolves to its exit code. */
  terminate(): Promise<number>;
}

/** One that a signal can reach. */
export interface SpawnedVerb extends RunningVerb {
  /** Sends SIGHUP. */
  hangUp(): void;
  /** As the machine does when its power fails; resolves when it has ended. */
  kill(): Promise<void>;
}

const onAnyPort = (args: readonly string[]): readonly string[] =>
  args.includes('--http-address') || args.includes('--http')
    ? args
    : [...args, '--http-address', '127.0.0.1:0'];

/** In a process of its own, as a user starts it. */
export const spawnVerb = (...args: readonly string[]): SpawnedVerb => spawned(PROGRAM, onAnyPort(args));

/** Where whatever a process makes without saying its mode is open to all users. */
export const spawnVerbWithOpenUmask = (
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): SpawnedVerb =>
  spawned('/bin/sh', ['-c', 'umask 000; exec "$0" "$@"', PROGRAM, ...onAnyPort(args)], environment);

function spawned(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): SpawnedVerb {
  const child = spawn(command, args, {
    env: { ...PROGRAM_ENVIRONMENT, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output: Output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  const terminate = async (): Promise<number> => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    return Number((await ended)[0]);
  };
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return { output, get: getFrom(output), terminate, kill, hangUp: () => void child.kill('SIGHUP') };
}

/** One that may end by itself. */
export interface StartedVerb extends RunningVerb {
  /** `null` while it runs. */
  exitCode(): number | null;
}

/** The same in this process, where only what the verb does matters. */
export function startVerb(...args: readonly string[]): StartedVerb {
  const output: Output = { stdout: '', stderr: '' };
  const control = new FakeProcess();
  const writer = (stream: keyof Output) => (text: string) => {
    output[stream] += text;
  };
  const running = runCli(onAnyPort(args), {
    environment: UNSIGNED_FLEET,
    terminalColumns: null,
    monotonicNow: () => 0,
    control,
    writeOut: async (text) => writer('stdout')(text),
    stderr: { isTerminal: false, write: writer('stderr') },
  });
  let ended: number | null = null;
  void running.then((exitCode) => {
    ended = exitCode;
  });
  const terminate = (): Promise<number> => {
    control.signal('SIGTERM');
    return running;
  };
  return { output, get: getFrom(output), terminate, exitCode: () => ended };
}

const getFrom =
  (output: Output): RunningVerb['get'] =>
  async (path) => {
    const port = await waitUntil('the port of health and metrics', BOUND_MS, () => portIn(output.stderr));
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, text: await response.text() };
  };

const portIn = (stderr: string): number | null =>
  Number(/"port":(\d+),"msg":"serving (?:health and metrics|the page)"/.exec(stderr)?.[1]) || null;
