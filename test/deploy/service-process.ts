import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/container.ts';
import { waitUntil } from '../support/wait-until.ts';
import { REPOSITORY } from './files.ts';

const READY_MS = 90_000;
const END_MS = 60_000;

/** A service as a process of its own; disposed of, it is killed. */
export interface ServiceProcess extends AsyncDisposable {
  /** Where it serves. */
  readonly url: string;
  /** What it wrote to stderr. */
  output(): string;
  metrics(): Promise<string>;
  /** What `/readyz?verbose` says. */
  readiness(): Promise<{ readonly ready: boolean; readonly text: string }>;
  /** Asks it to end, and waits until it has; its exit code, `null` where it had to be killed. */
  end(): Promise<number | null>;
}

/** Starts `fleetgc` with these arguments; resolves when it is ready. */
export async function startService(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  // The page has a port of its own, without probes and metrics.
  const probes = args[0] === 'dashboard' ? `127.0.0.1:${await freePort()}` : address;
  const addresses = ['--http-address', address, ...(probes === address ? [] : ['--probe-address', probes])];
  const child = spawn(join(REPOSITORY, 'bin/fleetgc'), [...args, ...addresses], {
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
  const exited = once(child, 'exit');
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const get = (path: string): Promise<Response> => fetch(`http://${probes}${path}`);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const end = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    await Promise.race([exited, sleep(END_MS, undefined, { ref: false })]);
    await stop();
    return child.exitCode;
  };
  try {
    const isReady = async (): Promise<boolean> => hasEnded() || (await get('/readyz')).ok;
    await waitUntil(`${args[0]} to be ready`, READY_MS, isReady);
    if (hasEnded()) throw new Error('it ended');
  } catch (cause) {
    await stop();
    throw new Error(`${args[0]} did not become ready; it said\n${output}`, { cause });
  }
  return {
    url,
    output: () => output,
    metrics: async () => (await get('/metrics')).text(),
    readiness: async () => {
      const answer = await get('/readyz?verbose');
      return { ready: answer.ok, text: await answer.text() };
    },
    end,
    [Symbol.asyncDispose]: stop,
  };
}
