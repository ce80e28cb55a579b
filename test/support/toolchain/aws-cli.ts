import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { type CommandResult, run } from './command.ts';
import { requirePip } from './httpfs.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { AWS_CLI_VERSION } from './versions.ts';

const LOCK_MS = 600_000;
const INSTALL_MS = 60_000;
const RUN_MS = 30_000;

/** The folder of the AWS CLI, with the libraries of Python that it needs. */
export async function ensureAwsCli(): Promise<string> {
  const folder = join(cacheDirectory(`aws-cli-${AWS_CLI_VERSION}-${process.arch}`), 'package');
  await withLock('aws-cli', LOCK_MS, async () => {
    if (!existsSync(folder)) await step(`fetching the AWS CLI ${AWS_CLI_VERSION}`, () => install(folder));
  });
  return folder;
}

async function install(folder: string): Promise<void> {
  await requirePip();
  const work = mkdtempSync(join(cacheDirectory('build'), 'aws-cli-'));
  try {
    const unfinished = join(work, 'package');
    const wanted = ['--target', unfinished, `awscli==${AWS_CLI_VERSION}`];
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--no-compile', ...wanted], {
      usualMs: INSTALL_MS,
    });
    renameSync(unfinished, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Runs `aws` to its end, as a user does; rejects when it fails. */
export async function aws(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const folder = await ensureAwsCli();
  return await run('python3', [join(folder, 'bin/aws'), ...args], {
    usualMs: RUN_MS,
    env: { PYTHONPATH: folder, ...environment },
  });
}
