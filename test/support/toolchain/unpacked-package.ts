import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { canInstall, downloadPackage } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { withLock } from './lock.ts';
import { DEBIAN_RELEASE } from './versions.ts';

const QUICK_MS = 30_000;
const LOCK_MS = 600_000;

/**
 * The files of a Debian package in a folder of their own, so that nothing is installed. Rejects with `otherwise` where
 * packages cannot be had.
 */
export async function unpackedPackage(name: string, otherwise: string): Promise<string> {
  const folder = join(cacheDirectory(`${name}-${DEBIAN_RELEASE}-${process.arch}`), 'package');
  await withLock(name, LOCK_MS, async () => {
    if (!existsSync(folder)) await unpack(name, folder, otherwise);
  });
  return folder;
}

async function unpack(name: string, folder: string, otherwise: string): Promise<void> {
  if (!canInstall()) throw new Error(otherwise);
  const work = mkdtempSync(join(cacheDirectory('build'), `${name}-`));
  try {
    await downloadPackage(name, work);
    const [archive = ''] = readdirSync(work);
    const unfinished = join(work, 'package');
    await run('dpkg-deb', ['--extract', join(work, archive), unfinished], { usualMs: QUICK_MS });
    renameSync(unfinished, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
