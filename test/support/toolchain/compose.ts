import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { run } from './command.ts';
import { buildGoPrograms, type Go } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { COMPOSE_VERSION } from './versions.ts';

const QUICK_MS = 30_000;
const LOCK_MS = 1_800_000;
const MODULE = 'github.com/docker/compose/v2';

/** The words that run Docker Compose, version 2 or newer: the plugin of the engine, or built once from its Go module. */
export async function ensureCompose(): Promise<readonly string[]> {
  if (await hasPlugin()) return ['docker', 'compose'];
  const folder = join(cacheDirectory(`compose-${COMPOSE_VERSION}-${process.arch}`), 'bin');
  await withLock('compose', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building Compose ${COMPOSE_VERSION} from its Go module (some minutes, once)`, () =>
      buildGoPrograms('compose', folder, compile),
    );
  });
  return [join(folder, 'cmd')];
}

async function hasPlugin(): Promise<boolean> {
  return run('docker', ['compose', 'version', '--short'], { usualMs: QUICK_MS }).then(
    ({ stdout }) => Number.parseInt(stdout.replace(/^v/, ''), 10) >= 2,
    () => false,
  );
}

async function compile(go: Go): Promise<void> {
  await go('get', '-tool', `${MODULE}/cmd@v${COMPOSE_VERSION}`);
  const version = `-X ${MODULE}/internal.Version=v${COMPOSE_VERSION}`;
  await go('build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', 'bin/', `${MODULE}/cmd`);
}
