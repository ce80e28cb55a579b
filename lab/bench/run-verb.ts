import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const FLEETGC = join(import.meta.dirname, '..', '..', 'bin', 'fleetgc');

/** A verb that ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly tookMs: number;
  /** Its stdout as JSON; `null` where it printed nothing. */
  readonly result: unknown;
}

/** Runs a verb to its end; its lines on stderr go to `heard`, its stdout is JSON. */
export async function runVerb(args: readonly string[], heard: (text: string) => void): Promise<Ended> {
  const startMs = performance.now();
  const child = spawn(FLEETGC, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text));
  child.stderr.setEncoding('utf8').on('data', heard);
  const [exitCode] = await once(child, 'close');
  const text = said.join('');
  const tookMs = Math.round(performance.now() - startMs);
  return { exitCode, tookMs, result: text === '' ? null : JSON.parse(text) };
}
