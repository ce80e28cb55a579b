import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { ensureMmdebstrap } from './debian-stand-in.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { unpackedPackage } from './unpacked-package.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const OTHERWISE = 'the image for arm64 is made with mmdebstrap and tried with qemu-user-static: install both';
const IMAGE_MS = 300_000;
const LOCK_MS = 1_200_000;
const EMULATOR = 'usr/bin/qemu-aarch64-static';

/** A program for this machine that runs those for arm64. */
export const ensureArm64Emulator = async (): Promise<string> =>
  join(await unpackedPackage('qemu-user-static', OTHERWISE), EMULATOR);

/** Our image for arm64 in a file, as `bin/arm64-image.ts` makes it. What it fetches is kept. */
export async function arm64Image(file: string, tag: string): Promise<void> {
  await ensureMmdebstrap(OTHERWISE);
  const keep = cacheDirectory('arm64');
  const args = [join(REPOSITORY, 'bin/arm64-image.ts'), '--into', file, '--tag', tag, '--keep', keep];
  await withLock('arm64', LOCK_MS, () =>
    step('making the image for arm64', () => run(process.execPath, args, { usualMs: IMAGE_MS })),
  );
}
