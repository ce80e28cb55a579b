import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { KEDA_VERSION, KNATIVE_VERSION, PROMETHEUS_OPERATOR_VERSION } from './versions.ts';

const LOCK_MS = 600_000;
const PROMETHEUS_CRDS = 'example/prometheus-operator-crd/monitoring.coreos.com_';
/** A module of Go, which brings the definitions of its kinds along; nothing of it is built. */
interface Source {
  readonly module: string;
  readonly files: readonly string[];
}
const OF_CHART: readonly Source[] = [
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
/** Those of Knative's eventing are in no module that can be had. */
const OF_FUNCTIONS: readonly Source[] = [
  { module: `knative.dev/serving@v${KNATIVE_VERSION}`, files: ['config/core/300-resources/service.yaml'] },
];
const Download = z.object({ Dir: z.string() });

/** A folder with the definitions of the kinds of KEDA and of Prometheus's operator that the chart makes objects of. */
export const ensureDefinitions = (): Promise<string> =>
  fetched(
    `definitions-${KEDA_VERSION}-${PROMETHEUS_OPERATOR_VERSION}`,
    'fetching the definitions of KEDA and of the operator of Prometheus (once)',
    OF_CHART,
  );

/** A folder with the definition of Knative's Service. */
export const ensureKnativeDefinitions = (): Promise<string> =>
  fetched(
    `definitions-knative-${KNATIVE_VERSION}`,
    'fetching the definition of Knative (once)',
    OF_FUNCTIONS,
  );

async function fetched(name: string, what: string, sources: readonly Source[]): Promise<string> {
  const folder = join(cacheDirectory(name), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('definitions', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(what, () =>
      buildGoPrograms('definitions', folder, async (go, work) => {
        mkdirSync(join(work, 'bin'));
        for (const { module, files } of sources) {
          const { Dir } = Download.parse(JSON.parse((await go('mod', 'download', '-json', module)).stdout));
          for (const file of files) copyFileSync(join(Dir, file), join(work, 'bin', basename(file)));
        }
      }),
    );
  });
  return folder;
}
