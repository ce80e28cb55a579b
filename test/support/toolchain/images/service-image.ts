import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../lock.ts';
import { step } from '../progress.ts';
import { SERVICE_IMAGE } from '../versions.ts';
import { ensureNodeImage } from './base-images.ts';
import { dockerBuild, imageId } from './build-image.ts';

const LOCK_MS = 1_800_000;
const REPOSITORY = join(import.meta.dirname, '..', '..', '..', '..');

/** The id of the image that a run built for all of its processes, each of which would look through the whole checkout. */
export const BUILT_IMAGE = 'FLEETGC_TEST_SERVICE_IMAGE';

let built: Promise<string> | null = null;

/** Our own image from the repository's Dockerfile, built once per run: what runs side by side is of one build. */
export function ensureServiceImage(): Promise<string> {
  built ??= isBuilt().then((done) => (done ? SERVICE_IMAGE : buildServiceImage()));
  return built;
}

/** Another checkout on this machine may have built its own meanwhile. */
async function isBuilt(): Promise<boolean> {
  const id = process.env[BUILT_IMAGE];
  return id !== undefined && id === (await imageId(SERVICE_IMAGE).catch(() => null));
}

/** Docker's layer cache makes an unchanged one cheap. */
async function buildServiceImage(): Promise<string> {
  if (!existsSync(join(REPOSITORY, 'Dockerfile')))
    throw new Error('there is no Dockerfile to build our image from');
  await ensureNodeImage();
  await withLock('image-service', LOCK_MS, () =>
    step(`building our own image ${SERVICE_IMAGE}`, () =>
      dockerBuild(SERVICE_IMAGE, 'checkout', [REPOSITORY]),
    ),
  );
  return SERVICE_IMAGE;
}
