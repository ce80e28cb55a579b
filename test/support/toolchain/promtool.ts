import { join } from 'node:path';
import { succeeds } from './command.ts';
import { unpackedPackage } from './unpacked-package.ts';

const QUICK_MS = 30_000;
const PROGRAM = 'usr/bin/promtool';
const OTHERWISE = 'the names of metrics are checked with promtool: install it, it comes with Prometheus';

/** The path of promtool: one that is installed, or the one of Debian's `prometheus`, taken out of its package so that no server is installed. */
export async function ensurePromtool(): Promise<string> {
  if (await succeeds('promtool', ['--version'], QUICK_MS)) return 'promtool';
  const program = join(await unpackedPackage('prometheus', OTHERWISE), PROGRAM);
  if (await succeeds(program, ['--version'], QUICK_MS)) return program;
  throw new Error(`${program} does not run here: install promtool, which comes with Prometheus`);
}
