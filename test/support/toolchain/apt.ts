import { existsSync } from 'node:fs';
import { run, succeeds } from './command.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';

const APT = ['-q', '-o', 'DPkg::Lock::Timeout=120'];
const APT_MS = 300_000;

/** Whether this process may install Debian packages: root, and a system that has apt. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get') && existsSync('/etc/debian_version');
}

/** Puts the file of a package into a folder, and installs nothing. */
export async function downloadPackage(name: string, folder: string): Promise<void> {
  await withLock('apt', APT_MS * 2, () =>
    step(`downloading the package ${name}`, async () => {
      await succeeds('apt-get', [...APT, 'update'], APT_MS);
      await run('apt-get', [...APT, 'download', name], { usualMs: APT_MS, cwd: folder });
    }),
  );
}

/** Installs Debian or Ubuntu packages, without the ones they only recommend. */
export async function install(packages: readonly string[]): Promise<void> {
  await withLock('apt', APT_MS * 2, () =>
    step(`installing ${packages.join(', ')}`, async () => {
      const env = { DEBIAN_FRONTEND: 'noninteractive' };
      // A third-party source that does not answer must not stop us: the packages are the distribution's own.
      await succeeds('apt-get', [...APT, 'update'], APT_MS);
      await run('apt-get', [...APT, 'install', '-y', '--no-install-recommends', ...packages], {
        usualMs: APT_MS,
        env,
      });
    }),
  );
}
