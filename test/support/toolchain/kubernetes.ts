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
/** Of the modules that are published from its repository. */
const STAGED = `v${KUBERNETES_VERSION.replace(/^1\./, '0.')}`;
const CRI_TESTING = 'k8s.io/cri-api/pkg/apis/testing';
const VERSION_PACKAGE = 'k8s.io/component-base/version';

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

/** A folder with the cleaner of certificate requests alone, as `request-cleaner`. */
export const builtRequestCleaner = (): Promise<string> =>
  builtPart({ name: 'request-cleaner', of: 'kube-controller-manager', packages: [], linking: '' });

/** A folder with the kubelet's collectors of images and containers alone, as `kubelet-collectors`. */
export const builtKubeletCollectors = (): Promise<string> =>
  builtPart({
    name: 'kubelet-collectors',
    of: 'kubelet',
    // What stands in for a runtime needs modules that the kubelet does not.
    packages: [`${MODULE}/pkg/kubelet/container/testing@v${KUBERNETES_VERSION}`, `${CRI_TESTING}@${STAGED}`],
    // They reach what the kubelet's packages keep to themselves.
    linking: ' -checklinkname=0',
  });

interface Part {
  /** Of its file in this folder, and of the program. */
  readonly name: string;
  /** The program of Kubernetes whose packages it uses. */
  readonly of: string;
  /** With their versions: what the program does not need of them. */
  readonly packages: readonly string[];
  readonly linking: string;
}

/** A folder with a main of our own that runs a part of a program of Kubernetes, built from the same module. */
async function builtPart({ name, of, packages, linking }: Part): Promise<string> {
  const source = join(import.meta.dirname, `${name}.go`);
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12);
  const folder = join(cacheDirectory(`${name}-${KUBERNETES_VERSION}-${hash}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('kubernetes', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await step(`building the ${name} of Kubernetes ${KUBERNETES_VERSION} from its Go module (once)`, () =>
      buildGoPrograms(name, folder, async (go) => {
        await useKubernetes(go, of);
        if (packages.length > 0) await go('get', ...packages);
        await go('build', '-trimpath', '-ldflags', `-s -w${linking}`, '-o', `bin/${name}`, source);
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
  const staged = await stagedModules(go);
  await go('mod', 'edit', ...staged.map((module) => `-replace=${module}=${module}@${STAGED}`));
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
