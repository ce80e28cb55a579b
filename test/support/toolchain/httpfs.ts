import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { canInstall, install } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run, succeeds } from './command.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { HTTPFS_VERSION } from './versions.ts';

const LOCK_MS = 600_000;
const DOWNLOAD_MS = 120_000;
const QUICK_MS = 30_000;

/** The path of DuckDB's extension that reads S3, as its own package of Python brings it. */
export async function ensureHttpfs(): Promise<string> {
  const folder = join(cacheDirectory(`httpfs-${HTTPFS_VERSION}-${process.arch}`), 'package');
  await withLock('httpfs', LOCK_MS, async () => {
    if (!existsSync(folder)) await step(`fetching DuckDB's httpfs ${HTTPFS_VERSION}`, () => unpack(folder));
  });
  return join(folder, 'duckdb_extension_httpfs/extensions', `v${HTTPFS_VERSION}`, 'httpfs.duckdb_extension');
}

async function unpack(folder: string): Promise<void> {
  await requirePip();
  const work = mkdtempSync(join(cacheDirectory('build'), 'httpfs-'));
  try {
    const wanted = `duckdb-extension-httpfs==${HTTPFS_VERSION}`;
    await run('python3', ['-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '-d', work, wanted], {
      usualMs: DOWNLOAD_MS,
    });
    const [wheel = ''] = readdirSync(work);
    const unfinished = join(work, 'package');
    await run('python3', ['-m', 'zipfile', '-e', join(work, wheel), unfinished], { usualMs: QUICK_MS });
    renameSync(unfinished, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

export async function requirePip(): Promise<void> {
  const isThere = (): Promise<boolean> => succeeds('python3', ['-m', 'pip', '--version'], QUICK_MS);
  if (await isThere()) return;
  if (canInstall()) await install(['python3-pip']);
  if (!(await isThere()))
    throw new Error(
      'that others read and copy our archives is tested with DuckDB’s httpfs and the AWS CLI: install Python’s pip',
    );
}
