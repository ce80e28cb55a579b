import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { KEDA_VERSION, PROMETHEUS_OPERATOR_VERSION } from './versions.ts';

const LOCK_MS = 600_000;
const PROMETHEUS_CRDS = 'example/prometheus-operator-crd/monitoring.coreos.com_';
/** Modules of Go, which bring the definitions of their kinds along; nothing of them is built. */
const SOURCES = [
  {
    module: `github.com/kedacore/keda/v2@v${KEDA_VERSION}`,
    files: ['scaledobjects', 'triggerauthentications'].map((kind) => `config/crd/bases/keda.sh_${kind}.yaml`),
  },
  {
    module: `github.com/prometheus-operator/prometheus-operator@v${PROMETHEUS_OPERATOR_VERSION}`,
    files: ['servicemonitors', 'podmonitors', 'prometheusrules'].map(
      (kind) => `${PROMETHEUS_CRDS}${kind}.yaml`,
    ),
  },
];
const Download = z.object({ Dir: z.string() });

/** A folder with the definitions of the kinds of KEDA and of Prometheus's operator that the chart makes objects of. */
export async function ensureDefinitions(): Promise<string> {
  const name = `definitions-${KEDA_VERSION}-${PROMETHEUS_OPERATOR_VERSION}`;
  const folder = join(cacheDirectory(name), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('definitions', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step('fetching the definitions of KEDA and of the operator of Prometheus (once)', () =>
      buildGoPrograms('definitions', folder, async (go, work) => {
        mkdirSync(join(work, 'bin'));
        for (const { module, files } of SOURCES) {
          const { Dir } = Download.parse(JSON.parse((await go('mod', 'download', '-json', module)).stdout));
          for (const file of files) copyFileSync(join(Dir, file), join(work, 'bin', basename(file)));
        }
      }),
    );
  });
  return folder;
}
