import { join } from 'node:path';
import { builtKubernetesProgram, builtRequestCleaner } from '../../../test/support/toolchain/kubernetes.ts';
import { type Collector, collector, type Looks } from './collector.ts';
import { startProcess } from './process.ts';

/** Its own default is 20; a comparison of ends wants no time spent on that. */
const REQUESTS_PER_SECOND = 1_000;

/** What of kube-controller-manager a subject is compared with. */
export interface KcmPart {
  /** `request-cleaner`: one controller outside of it, since there it looks once an hour and finds nothing when it starts. */
  readonly program: 'kube-controller-manager' | 'request-cleaner';
  /** As its option --controllers has them. */
  readonly controllers: readonly string[];
  readonly options?: readonly string[];
}

interface Compared {
  readonly kcm: KcmPart;
  readonly looks: { readonly kcm: Looks };
}

/** kube-controller-manager with these controllers alone. */
export async function startKcm({ kcm, looks }: Compared, kubeconfig: string): Promise<Collector> {
  const { program, args } = await commandOf(kcm, kubeconfig);
  return collector(looks.kcm, async () => startProcess(program, args, { environment: {} }));
}

interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

async function commandOf(
  { program, controllers, options = [] }: KcmPart,
  kubeconfig: string,
): Promise<Command> {
  if (program === 'request-cleaner')
    return { program: join(await builtRequestCleaner(), program), args: [kubeconfig] };
  return {
    program: join(await builtKubernetesProgram(program), program),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--secure-port=0',
      `--kube-api-qps=${REQUESTS_PER_SECOND}`,
      `--kube-api-burst=${2 * REQUESTS_PER_SECOND}`,
      ...options,
    ],
  };
}
