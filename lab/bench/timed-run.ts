import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { peakResidentBytes, usedCpuMs } from './process-usage.ts';

/** What one run of a program took. */
export interface TimedRun {
  readonly wallMs: number;
  /** Of all its threads; looked at until just before its end. */
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly output: string;
}

const LOOK_MS = 20;
const SHOWN_CHARACTERS = 3000;
const CHECKOUT = join(import.meta.dirname, '..', '..');

export const FLEETGC = join(CHECKOUT, 'bin', 'fleetgc');

/** Runs a program to its end. Throws when it fails. */
export async function timedRun(program: string, args: readonly string[]): Promise<TimedRun> {
  const startMs = performance.now();
  const child = spawn(program, args, { cwd: CHECKOUT, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errorOutput] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-SHOWN_CHARACTERS);
  });
  let used = { cpuMs: 0, peakBytes: 0 };
  const look = setInterval(() => {
    used = usageOf(child.pid) ?? used;
  }, LOOK_MS);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  );
  const wallMs = performance.now() - startMs;
  clearInterval(look);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${errorOutput}`);
  return { wallMs, output, ...used };
}

/** `null` once it has ended. */
function usageOf(pid: number | undefined): Pick<TimedRun, 'cpuMs' | 'peakBytes'> | null {
  try {
    return pid === undefined ? null : { cpuMs: usedCpuMs(pid), peakBytes: peakResidentBytes(pid) };
  } catch {
    return null;
  }
}
