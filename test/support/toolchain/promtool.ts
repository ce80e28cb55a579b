import { join } from 'node:path';
import { succeeds } from './command.ts';
import { unpackedPackage } from './unpacked-package.ts';

const QUICK_MS = 30_000;
const OTHERWISE =
  'metrics, rules and dashboards are checked with promtool and Prometheus: install Prometheus';

/** One that is installed, or the one of Debian's `prometheus`, taken out of its package so that no server is installed. */
async function ensureProgram(name: 'promtool' | 'prometheus'): Promise<string> {
  if (await succeeds(name, ['--version'], QUICK_MS)) return name;
  const program = join(await unpackedPackage('prometheus', OTHERWISE), 'usr/bin', name);
  if (await succeeds(program, ['--version'], QUICK_MS)) return program;
  throw new Error(`${program} does not run here: install Prometheus`);
}

/** The path of promtool. */
export const ensurePromtool = (): Promise<string> => ensureProgram('promtool');

/** The path of the server. */
export const ensurePrometheus = (): Promise<string> => ensureProgram('prometheus');
