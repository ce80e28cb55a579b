import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDebianImage, ensureNodeImage } from './base-images.ts';
import { run } from './command.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { SERVICE_IMAGE } from './versions.ts';

const BUILD_MS = 600_000;
const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

/** Builds our own image from the repository's Dockerfile; Docker's layer cache makes an unchanged one cheap. */
export async function buildServiceImage(): Promise<string> {
  if (!existsSync(join(REPOSITORY, 'Dockerfile')))
    throw new Error('there is no Dockerfile to build our image from');
  await ensureDebianImage();
  await ensureNodeImage();
  await withLock('image-service', BUILD_MS * 2, () =>
    step(`building our own image ${SERVICE_IMAGE}`, () =>
      run('docker', ['build', '-t', SERVICE_IMAGE, REPOSITORY], { timeoutMs: BUILD_MS }),
    ),
  );
  return SERVICE_IMAGE;
}
