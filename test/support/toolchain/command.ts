import { type ChildProcess, spawn } from 'node:child_process';
import { patiently } from '../patience.ts';

export interface CommandOptions {
  /** What the whole command usually takes at the most. It gets SIGTERM after ten times that, and SIGKILL some seconds later. */
  readonly usualMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Sees each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface CommandResult {
  readonly stdout: string;
  /** stdout and stderr in the order in which they came, the end of it when it is long. */
  readonly output: string;
}

const KEPT_CHARACTERS = 200_000;
const SHOWN_LINES = 40;

/** Runs a program to its end. Rejects with its last lines when it fails, cannot start or takes too long. */
export async function run(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const boundMs = patiently(options.usualMs);
  const deadline = AbortSignal.timeout(boundMs);
  const signal = options.signal ? AbortSignal.any([deadline, options.signal]) : deadline;
  const env = { ...process.env, ...options.env };
  const child = spawn(program, args, { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const captured = capture(child, options.onOutput);
  const end = (): void => endHard(child);
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = await ending(child, program);
    if (ended === 0) return captured;
    const how = deadline.aborted ? `took longer than ${boundMs / 1000} s` : `ended with ${ended}`;
    throw new Error(`'${[program, ...args].join(' ').slice(0, 200)}' ${how}\n${lastLines(captured.output)}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Whether the program ran and ended well; its output does not matter. */
export async function succeeds(program: string, args: readonly string[], usualMs: number): Promise<boolean> {
  return run(program, args, { usualMs }).then(
    () => true,
    () => false,
  );
}

/** Ends a child that may not listen. */
export function endHard(child: ChildProcess): void {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  child.once('close', () => clearTimeout(timer));
}

function capture(child: ChildProcess, onOutput: (text: string) => void = () => {}): CommandResult {
  const captured = { stdout: '', output: '' };
  const take = (text: string): void => {
    captured.output = (captured.output + text).slice(-KEPT_CHARACTERS);
    onOutput(text);
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    captured.stdout += text;
    take(text);
  });
  child.stderr?.setEncoding('utf8').on('data', take);
  return captured;
}

function ending(child: ChildProcess, program: string): Promise<number | string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<number | string | null>();
  child.once('error', (cause) => reject(new Error(`cannot start '${program}': ${cause.message}`, { cause })));
  child.once('close', (code, signal) => resolve(code ?? signal));
  return promise;
}

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}
