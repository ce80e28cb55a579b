import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { VERSITYGW_VERSION } from './versions.ts';

const LOCK_MS = 1_200_000;
const MODULE = 'github.com/versity/versitygw/cmd/versitygw';

/** The path of versitygw: a server of S3 that heeds conditional writes, over a directory. */
export async function builtVersitygw(): Promise<string> {
  const folder = join(cacheDirectory(`versitygw-${VERSITYGW_VERSION}-${process.arch}`), 'bin');
  const program = join(folder, 'versitygw');
  if (existsSync(folder)) return program;
  await withLock('versitygw', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building versitygw ${VERSITYGW_VERSION} from its Go modules (two minutes, once)`, () =>
      buildGoPrograms('versitygw', folder, async (go) => {
        await go('get', '-tool', `${MODULE}@v${VERSITYGW_VERSION}`);
        await go('build', '-trimpath', '-ldflags', '-s -w', '-o', 'bin/versitygw', MODULE);
      }),
    );
  });
  return program;
}
