import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { imageId } from './images/build-image.ts';
import { nodeImage } from './versions.ts';

const DOCKER_MS = 60_000;

/** A static busybox on this machine, taken out of a node's image: what the images of the tests are made of. */
export async function busyboxFile(): Promise<string> {
  const image = nodeImage('containerd-2.4.2');
  const file = join(cacheDirectory('busybox'), (await imageId(image)).replace('sha256:', ''));
  if (existsSync(file)) return file;
  const { stdout } = await run('docker', ['create', image], { usualMs: DOCKER_MS });
  const container = stdout.trim();
  try {
    const unfinished = `${file}.${process.pid}`;
    await run('docker', ['cp', `${container}:/bin/busybox`, unfinished], { usualMs: DOCKER_MS });
    renameSync(unfinished, file);
  } finally {
    await run('docker', ['rm', container], { usualMs: DOCKER_MS });
  }
  return file;
}
