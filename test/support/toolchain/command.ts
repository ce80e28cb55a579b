import { type ChildProcess, spawn } from 'node:child_process';

export interface CommandOptions {
  /** Bound for the whole command; then it gets SIGTERM, and SIGKILL five seconds later. */
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Sees each piece of output as it comes, and may end the command early. */
  readonly onOutput?: (text: string, child: ChildProcess) => void;
}

export interface CommandResult {
  readonly stdout: string;
  readonly output: string;
}

const KEPT_CHARACTERS = 200_000;
const SHOWN_LINES = 40;

/** Runs a program to its end. Rejects with its last lines when it fails, cannot start or takes too long. */
export function run(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const env = { ...process.env, ...options.env };
  const child = spawn(program, args, { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const shown = [program, ...args].join(' ').slice(0, 200);
  let stdout = '';
  let output = '';
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    endHard(child);
  }, options.timeoutMs);
  const take = (text: string): void => {
    output = (output + text).slice(-KEPT_CHARACTERS);
    options.onOutput?.(text, child);
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    take(text);
  });
  child.stderr.setEncoding('utf8').on('data', take);
  child.once('error', (cause) => {
    clearTimeout(timer);
    reject(new Error(`cannot start '${program}': ${cause.message}`, { cause }));
  });
  child.once('close', (code, signal) => {
    clearTimeout(timer);
    if (code === 0) return resolve({ stdout, output });
    const how = timedOut ? `took longer than ${options.timeoutMs / 1000} s` : `ended with ${code ?? signal}`;
    reject(new Error(`'${shown}' ${how}\n${lastLines(output)}`));
  });
  return promise;
}

/** Whether the program ran and ended well; its output does not matter. */
export async function succeeds(
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<boolean> {
  return run(program, args, { timeoutMs }).then(
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

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}
