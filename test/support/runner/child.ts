import { type ChildProcess, spawn } from 'node:child_process';

export interface ChildOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends a child that writes nothing for so long. A slow one that goes on has all the time that it needs. */
  readonly silenceMs: number;
  /** Ends the child and all that it started. */
  readonly signal: AbortSignal;
}

export interface ChildOutcome {
  readonly ok: boolean;
  /** stdout and stderr as they came, and why it was ended if it was. */
  readonly output: string;
}

const GRACE_MS = 10_000;

/** Runs a program as the leader of a process group, so that nothing of it is left when it has to be ended. */
export async function runChild(
  program: string,
  args: readonly string[],
  options: ChildOptions,
): Promise<ChildOutcome> {
  const silent = new AbortController();
  const silence = setTimeout(() => silent.abort(), options.silenceMs);
  const ending = AbortSignal.any([silent.signal, options.signal]);
  const { cwd, env } = options;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output.push(text);
      silence.refresh();
    });
  }
  const end = (): void => endGroup(child);
  ending.addEventListener('abort', end, { once: true });
  const code = await closed(child, output);
  ending.removeEventListener('abort', end);
  clearTimeout(silence);
  if (silent.signal.aborted) output.push(`\nended: it wrote nothing for ${options.silenceMs / 1000} s\n`);
  return { ok: code === 0 && !ending.aborted, output: output.join('') };
}

function closed(child: ChildProcess, output: string[]): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('error', (error) => {
    output.push(`${error.message}\n`);
    resolve(null);
  });
  child.once('close', resolve);
  return promise;
}

function endGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM');
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS);
  // What the leader left behind must not outlive it.
  child.once('exit', () => {
    clearTimeout(timer);
    signalGroup(child, 'SIGKILL');
  });
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!gone) throw error;
  }
}
