import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import type { Address } from '../../../../../packages/process/options/options.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../../../support/program.ts';
import { waitUntil } from '../../../../support/wait-until.ts';

const START_MS = 20_000;
const SERVING = { address: 'serving decisions', probes: 'serving health and metrics' } as const;
const Serving = z.object({ msg: z.string(), host: z.string(), port: z.number() });

export interface ServingProcess extends SpawnedProcess {
  readonly address: Address;
  readonly probes: Address;
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

/** `fleetgc serve` on ports that the system chose. */
export async function spawnFunction(...args: readonly string[]): Promise<ServingProcess> {
  const anyPort = '127.0.0.1:0';
  const spawned = spawnService('serve', ...args, '--http', anyPort, '--http-address', anyPort);
  const address = await waitUntil(`serve ${args[0]} to listen`, START_MS, () =>
    addressIn(spawned.output(), SERVING.address),
  );
  const probes = addressIn(spawned.output(), SERVING.probes);
  if (probes === null) throw new Error('it does not say where it is asked how it is');
  return { ...spawned, address, probes };
}

function addressIn(output: string, message: string): Address | null {
  for (const line of output.split('\n')) {
    const { data } = Serving.safeParse(jsonIn(line));
    if (data?.msg === message) return { host: data.host, port: data.port };
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
