import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** A program and what it is told, as they are: no shell reads them. */
export type Command = readonly [program: string, ...words: string[]];

export interface CommandLimits {
  readonly timeoutMs: number;
  /** Of stdout. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** In place of that of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export type CommandOutput = { readonly ok: true; readonly stdout: string } | CommandFailure;

export interface CommandFailure {
  readonly ok: false;
  /** Continues a sentence about the command. */
  readonly why: string;
  readonly isStarted: boolean;
  /** What it wrote by then may be anything. */
  readonly stdout: string;
  readonly stderr: string;
}

/** For people; what comes behind is read and forgotten. */
const MAX_STDERR_BYTES = 2_000;

/**
 * What a command writes to stdout. It gets no stdin. When its time is over, it is killed with all that it has started.
 */
export async function commandOutput(command: Command, limits: CommandLimits): Promise<CommandOutput> {
  const { promise: stopped, resolve } = Promise.withResolvers<End>();
  const stop = (why: string): void => resolve({ why, isStarted: true });
  const [program, ...words] = command;
  using cleanup = new DisposableStack();
  const started = start(program, words, limits.environment);
  if ('why' in started) return { ok: false, ...started, stdout: '', stderr: '' };
  cleanup.defer(() => killAll(started));
  const timer = setTimeout(
    () => stop(`it did not end within ${limits.timeoutMs / 1000} s`),
    limits.timeoutMs,
  );
  cleanup.defer(() => clearTimeout(timer));
  const onAbort = (): void => stop('this process is told to stop');
  limits.signal.addEventListener('abort', onAbort, { once: true });
  cleanup.defer(() => limits.signal.removeEventListener('abort', onAbort));
  if (limits.signal.aborted) onAbort();
  const tooMuch = (): void => stop(`it wrote more than ${limits.maxBytes} bytes to stdout`);
  const stdout = collect(started.stdout, limits.maxBytes, tooMuch);
  const stderr = collect(started.stderr, MAX_STDERR_BYTES, () => undefined);
  const end = await Promise.race([stopped, endOf(started)]);
  return end === null
    ? { ok: true, stdout: stdout() }
    : { ok: false, ...end, stdout: stdout(), stderr: stderr() };
}

type End = Pick<CommandFailure, 'why' | 'isStarted'>;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** In a group of its own, so that all of it can be killed. */
function start(
  program: string,
  words: readonly string[],
  environment: CommandLimits['environment'],
): Child | End {
  const env = environment === undefined ? {} : { env: { ...environment } };
  try {
    return spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...env });
  } catch (error) {
    return notStarted(error);
  }
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'this user may not run it',
};

/** The system's own message repeats the words that the command is told. */
function notStarted(error: unknown): End {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'for an unknown reason';
  return { why: FAILURES[code] ?? `it cannot be started (${code})`, isStarted: false };
}

/** `null` when all went well. */
function endOf(child: Child): Promise<End | null> {
  const { promise, resolve } = Promise.withResolvers<End | null>();
  child.on('error', (error) => resolve(notStarted(error)));
  child.on('close', (code, signal) => {
    if (code === 0) resolve(null);
    else {
      const why = code === null ? `${signal} ended it` : `it ended with exit code ${code}`;
      resolve({ why, isStarted: true });
    }
  });
  return promise;
}

/** The text so far, of at most so many bytes. */
function collect(stream: Readable, maxBytes: number, onMore: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    const fitting = chunk.subarray(0, maxBytes - bytes);
    if (fitting.length > 0) chunks.push(fitting);
    bytes += fitting.length;
    if (fitting.length < chunk.length) onMore();
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

/** Also where the command itself has ended, and something that it started holds its outputs open. */
function killAll(child: Child): void {
  const nothingIsLeft = child.exitCode !== null && child.stdout.closed && child.stderr.closed;
  child.stdout.destroy();
  child.stderr.destroy();
  if (child.pid === undefined || nothingIsLeft) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
