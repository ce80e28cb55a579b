import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { canInstall, downloadPackage } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run, succeeds } from './command.ts';
import { withLock } from './lock.ts';
import { DEBIAN_RELEASE } from './versions.ts';

const QUICK_MS = 30_000;
const LOCK_MS = 600_000;
const PROGRAM = 'usr/bin/promtool';

/** The path of promtool: one that is installed, or the one of Debian's `prometheus`, taken out of its package so that no server is installed. */
export async function ensurePromtool(): Promise<string> {
  if (await succeeds('promtool', ['--version'], QUICK_MS)) return 'promtool';
  const folder = join(cacheDirectory(`promtool-${DEBIAN_RELEASE}-${process.arch}`), 'package');
  await withLock('promtool', LOCK_MS, async () => {
    if (!existsSync(folder)) await unpack(folder);
  });
  const program = join(folder, PROGRAM);
  if (await succeeds(program, ['--version'], QUICK_MS)) return program;
  throw new Error(`${program} does not run here: install promtool, which comes with Prometheus`);
}

async function unpack(folder: string): Promise<void> {
  if (!canInstall())
    throw new Error('the names of metrics are checked with promtool: install it, it comes with Prometheus');
  const work = mkdtempSync(join(cacheDirectory('build'), 'promtool-'));
  try {
    await downloadPackage('prometheus', work);
    const [archive = ''] = readdirSync(work);
    const unfinished = join(work, 'package');
    await run('dpkg-deb', ['--extract', join(work, archive), unfinished], { usualMs: QUICK_MS });
    renameSync(unfinished, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
