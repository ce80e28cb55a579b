import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { type Architecture, buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { LAMBDA_EMULATOR_VERSION } from './versions.ts';

const LOCK_MS = 600_000;
const COMMAND = 'github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie';

/** The path of AWS's emulator of Lambda, built from its Go module once for each version. `architecture`: for another machine than this one. */
export async function ensureLambdaEmulator(architecture: Architecture | null = null): Promise<string> {
  const machine = architecture ?? process.arch;
  const folder = join(cacheDirectory(`lambda-emulator-${LAMBDA_EMULATOR_VERSION}-${machine}`), 'bin');
  await withLock('lambda-emulator', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step('building the emulator of AWS Lambda from its Go module (half a minute, once)', () =>
      buildGoPrograms(
        'lambda-emulator',
        folder,
        async (go) => {
          await go('get', '-tool', `${COMMAND}@${LAMBDA_EMULATOR_VERSION}`);
          await go('build', '-trimpath', '-ldflags', '-s -w', '-o', 'bin/aws-lambda-rie', COMMAND);
        },
        architecture,
      ),
    );
  });
  return join(folder, 'aws-lambda-rie');
}
