import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { cacheDirectory } from './cache.ts';
import { buildGoPrograms, type Go } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { KUBERNETES_VERSION } from './versions.ts';

const LOCK_MS = 1_800_000;
const MODULE = 'k8s.io/kubernetes';
const VERSION_PACKAGE = 'k8s.io/component-base/version';
const REQUEST_CLEANER = join(import.meta.dirname, 'request-cleaner.go');

/** A folder with one program of Kubernetes, statically linked, built from its Go module once for each version. */
export async function builtKubernetesProgram(
  program: 'kubelet' | 'kube-apiserver' | 'kubectl' | 'kube-controller-manager' | 'kube-scheduler',
): Promise<string> {
  const folder = join(cacheDirectory(`${program}-${KUBERNETES_VERSION}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  // One after the other: most of what the second needs, the first has compiled.
  await withLock('kubernetes', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building ${program} ${KUBERNETES_VERSION} from its Go module (some minutes, once)`, () =>
      buildGoPrograms(program, folder, (go) => compile(go, program)),
    );
  });
  return folder;
}

/** A folder with the cleaner of certificate requests alone, as `request-cleaner`, from the same module. */
export async function builtRequestCleaner(): Promise<string> {
  const name = 'request-cleaner';
  const hash = createHash('sha256').update(readFileSync(REQUEST_CLEANER)).digest('hex').slice(0, 12);
  const folder = join(cacheDirectory(`${name}-${KUBERNETES_VERSION}-${hash}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('kubernetes', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building the ${name} of Kubernetes ${KUBERNETES_VERSION} from its Go module (once)`, () =>
      buildGoPrograms(name, folder, async (go) => {
        await useKubernetes(go, 'kube-controller-manager');
        await go('build', '-trimpath', '-ldflags', '-s -w', '-o', `bin/${name}`, REQUEST_CLEANER);
      }),
    );
  });
  return folder;
}

async function compile(go: Go, program: string): Promise<void> {
  const command = await useKubernetes(go, program);
  // Without it the program says that it is v0.0.0.
  const version = `-X ${VERSION_PACKAGE}.gitVersion=v${KUBERNETES_VERSION}`;
  await go('build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', 'bin/', command);
}

/** Has the module of `go` need a program of Kubernetes; resolves to its package. */
async function useKubernetes(go: Go, program: string): Promise<string> {
  const command = `${MODULE}/cmd/${program}`;
  const stagedVersion = `v${KUBERNETES_VERSION.replace(/^1\./, '0.')}`;
  const staged = await stagedModules(go);
  await go('mod', 'edit', ...staged.map((module) => `-replace=${module}=${module}@${stagedVersion}`));
  await go('get', '-tool', `${command}@v${KUBERNETES_VERSION}`);
  return command;
}

const Download = z.object({ GoMod: z.string() });

/** Modules that Kubernetes replaces by folders of its own repository, which exist only there: they are also published. */
async function stagedModules(go: Go): Promise<readonly string[]> {
  const { stdout } = await go('mod', 'download', '-json', `${MODULE}@v${KUBERNETES_VERSION}`);
  const { GoMod } = Download.parse(JSON.parse(stdout));
  const replacements = readFileSync(GoMod, 'utf8').matchAll(/^\s*(?:replace\s+)?(\S+) => \.\/staging\//gm);
  return [...replacements].flatMap(([, module]) => module ?? []);
}
