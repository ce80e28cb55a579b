import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { COLLECTOR_VERSIONS } from './versions.ts';

const LOCK_MS = 1_800_000;
const MAIN = join(import.meta.dirname, 'collector.go');
const { modules, stable } = COLLECTOR_VERSIONS;
const COLLECTOR = 'go.opentelemetry.io/collector';
/** What the main needs of it, and no more: those with everything are ten times as large. */
const PARTS = [
  'otelcol',
  'receiver/otlpreceiver',
  'exporter/debugexporter',
  'service/telemetry/otelconftelemetry',
];

/** A folder with OpenTelemetry's collector as `collector`: it takes OTLP over HTTP and writes what it got to stderr. */
export async function builtCollector(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(MAIN)).digest('hex').slice(0, 12);
  const folder = join(cacheDirectory(`collector-${modules}-${hash}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('collector', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building OpenTelemetry's collector ${modules} from its Go modules (some minutes, once)`, () =>
      buildGoPrograms('collector', folder, async (go) => {
        await go(
          'get',
          ...PARTS.map((part) => `${COLLECTOR}/${part}@v${modules}`),
          `${COLLECTOR}/confmap/provider/fileprovider@v${stable}`,
        );
        await go('build', '-trimpath', '-ldflags', '-s -w', '-o', 'bin/collector', MAIN);
      }),
    );
  });
  return folder;
}
