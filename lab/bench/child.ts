import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { UNSIGNED_FLEET } from '../../test/support/program.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { ScriptArguments } from './processes/arguments.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const READY_MS = 30_000;
const END_MS = 10_000;
const SHOWN_CHARACTERS = 3000;

/** A process beside this one; ended when it is disposed of. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  output(): string;
  /** Resolves when its output holds this text. */
  said(text: string): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** Starts a service of this checkout, as people do. */
export const startVerb = (args: readonly string[], environment: Environment = {}): Child =>
  start(join(CHECKOUT, 'bin', 'fleetgc'), args, environment);

/** Starts any other program. */
export const startProgram = (program: string, args: readonly string[]): Child => start(program, args);

/**
 * Starts a script of `processes/` with its one argument, and waits until it says `ready`. With `networkOf` it shares the
 * network of that process: what listens in a container is reached without forwarding of ports.
 */
export async function startScript<Name extends keyof ScriptArguments>(
  name: Name,
  argument: ScriptArguments[Name],
  { networkOf }: { readonly networkOf?: number } = {},
): Promise<Child> {
  const script = join(import.meta.dirname, 'processes', `${name}.ts`);
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, JSON.stringify(argument)];
  const enter = networkOf === undefined ? [] : ['nsenter', '--target', `${networkOf}`, '--net', '--'];
  const [program = '', ...args] = [...enter, ...node];
  const child = start(program, args);
  await child.said('ready');
  return child;
}

function start(program: string, args: readonly string[], environment: Environment = {}): Child {
  const child = spawn(program, args, {
    cwd: CHECKOUT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...UNSIGNED_FLEET, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-100_000);
    });
  }
  const name = args.slice(0, 2).join(' ');
  return {
    pid: pidOf(child),
    output: () => output,
    said: async (text) => {
      try {
        await waitUntil(`'${name}' to say ${text}`, READY_MS, () => output.includes(text) || hasEnded(child));
      } finally {
        if (!output.includes(text)) process.stderr.write(`${output.slice(-SHOWN_CHARACTERS)}\n`);
      }
      if (!output.includes(text)) throw new Error(`'${name}' ended before it said ${text}`);
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process could not be started');
  return pid;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(impatience);
}
