import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { Address } from '../../../../packages/process/options/options.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../../support/program.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const START_MS = 20_000;
const Serving = z.object({ msg: z.literal('serving decisions'), host: z.string(), port: z.number() });

export interface ServingProcess extends SpawnedProcess {
  readonly address: Address;
}

interface SpawnedProcess extends AsyncDisposable {
  readonly output: () => string;
}

/** The command in a process of its own, until it is disposed of. */
export function spawnService(...args: readonly string[]): SpawnedProcess {
  const child = spawn(PROGRAM, args, { env: PROGRAM_ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** `fleetgc serve` on a port that the system chose. */
export async function spawnFunction(...args: readonly string[]): Promise<ServingProcess> {
  const spawned = spawnService('serve', ...args, '--http', '127.0.0.1:0');
  const address = await waitUntil(`serve ${args[0]} to listen`, START_MS, () => addressIn(spawned.output()));
  return { ...spawned, address };
}

function addressIn(output: string): Address | null {
  for (const line of output.split('\n')) {
    const { data } = Serving.safeParse(jsonIn(line));
    if (data !== undefined) return { host: data.host, port: data.port };
  }
  return null;
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
