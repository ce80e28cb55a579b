import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const BOUND_MS = 240_000;
const NOBODY = 65_534;

/** Another user can be made by root alone, and has to reach the runtime. */
function canBeNobody(): boolean {
  if (process.geteuid?.() !== 0) return false;
  for (let path = REPOSITORY; ; path = dirname(path)) {
    if ((statSync(path).mode & 0o005) !== 0o005) return false;
    if (path === '/') return true;
  }
}

test.runIf(canBeNobody())(
  'what root built under a narrow umask starts as another user, and what such a user cannot read is said',
  () => {
    const home = temporaryDirectory();
    chmodSync(home, 0o755);
    mkdirSync(join(home, 'bin'));
    chmodSync(join(home, 'bin'), 0o755);
    copyFileSync(join(REPOSITORY, 'bin/fleetgc'), join(home, 'bin/fleetgc'));
    chmodSync(join(home, 'bin/fleetgc'), 0o755);
    symlinkSync(join(REPOSITORY, 'node_modules'), join(home, 'node_modules'));
    const dist = join(home, 'dist');
    const build = [
      '-c',
      'umask 077; exec "$@"',
      'sh',
      process.execPath,
      join(REPOSITORY, 'bin/build.ts'),
      '--into',
      dist,
    ];
    execFileSync('sh', build, { timeout: BOUND_MS, stdio: 'pipe' });

    const closed = readdirSync(dist, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => (statSync(path).mode & 0o077) !== (statSync(path).isDirectory() ? 0o055 : 0o044));
    expect([closed, statSync(dist).mode & 0o777]).toEqual([[], 0o755]);

    const asNobody = () =>
      spawnSync(join(home, 'bin/fleetgc'), ['version'], {
        uid: NOBODY,
        gid: NOBODY,
        encoding: 'utf8',
        timeout: BOUND_MS,
        env: { PATH: process.env.PATH ?? '' },
      });
    expect(asNobody()).toMatchObject({ status: 0, stderr: '' });

    for (const path of [dist, join(dist, 'cli.mjs')]) {
      const { mode } = statSync(path);
      chmodSync(path, 0o700);
      expect(asNobody()).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining(
          `may not read ${path}; to open the installation to all users: chmod -R a+rX`,
        ),
      });
      chmodSync(path, mode);
    }
  },
  2 * BOUND_MS,
);
