import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { patiently } from '../../../test/support/patience.ts';

const STOPPED_MS = 3_000;
const SHOWN_CHARACTERS = 4_000;

/** A collector that runs. */
export interface RunningProcess extends AsyncDisposable {
  /** Rejects when it ends by itself, with what it said last. */
  readonly ended: Promise<never>;
}

interface Given {
  readonly environment: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

/**
 * Ended with SIGTERM when disposed, and with SIGKILL if it hangs. It has a group of its own: a signal for the comparison and all that
 * it started ends the comparison after the batches that are under way, and nothing in the middle of them.
 */
export function startProcess(
  program: string,
  args: readonly string[],
  { environment, onLine = () => undefined }: Given,
): RunningProcess {
  const child = spawn(program, [...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let said = '';
  let line = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-SHOWN_CHARACTERS);
    });
  child.stdout.on('data', (text: string) => {
    const lines = (line + text).split('\n');
    line = lines.pop() ?? '';
    for (const each of lines) onLine(each);
  });
  let isStopping = false;
  const exited = once(child, 'exit');
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  child.once('error', reject);
  child.once('exit', (code, signal) => {
    if (!isStopping) reject(new Error(`${program} ended with ${signal ?? code}; it said last:\n${said}`));
  });
  return {
    ended,
    [Symbol.asyncDispose]: async () => {
      isStopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const late = new AbortController();
      const kill = sleep(patiently(STOPPED_MS), undefined, { signal: late.signal }).then(
        () => child.kill('SIGKILL'),
        () => undefined,
      );
      await exited;
      late.abort();
      await kill;
    },
  };
}
