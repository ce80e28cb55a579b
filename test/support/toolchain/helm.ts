import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { HELM_VERSION, KUBERNETES_VERSION } from './versions.ts';

const LOCK_MS = 1_800_000;
const COMMAND = 'helm.sh/helm/v3/cmd/helm';
/** What its own build sets: its version, and the Kubernetes that `helm template` and `helm lint` render for. */
const [, KUBERNETES_MINOR = ''] = KUBERNETES_VERSION.split('.');
const SET = {
  'internal/version.version': `v${HELM_VERSION}`,
  'pkg/chartutil.k8sVersionMajor': '1',
  'pkg/chartutil.k8sVersionMinor': KUBERNETES_MINOR,
  'pkg/lint/rules.k8sVersionMajor': '1',
  'pkg/lint/rules.k8sVersionMinor': KUBERNETES_MINOR,
};

/** The path of Helm, built from its Go module once for each version. */
export async function ensureHelm(): Promise<string> {
  const folder = join(cacheDirectory(`helm-${HELM_VERSION}-${process.arch}`), 'bin');
  const program = join(folder, 'helm');
  if (existsSync(folder)) return program;
  // With the programs of Kubernetes one after the other: they have the libraries in common.
  await withLock('kubernetes', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building Helm ${HELM_VERSION} from its Go module (a minute or two, once)`, () =>
      buildGoPrograms('helm', folder, async (go) => {
        await go('get', '-tool', `${COMMAND}@v${HELM_VERSION}`);
        const set = Object.entries(SET).map(([name, value]) => `-X helm.sh/helm/v3/${name}=${value}`);
        await go('build', '-trimpath', '-ldflags', ['-s', '-w', ...set].join(' '), '-o', 'bin/', COMMAND);
      }),
    );
  });
  return program;
}
