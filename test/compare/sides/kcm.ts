import { join } from 'node:path';
import { builtKubernetesProgram } from '../../support/toolchain/kubernetes.ts';
import type { Subject } from '../subjects.ts';
import { type RunningProcess, startProcess } from './process.ts';

/** Its own default is 20; a comparison of ends wants no time spent on that. */
const REQUESTS_PER_SECOND = 1_000;

/** kube-controller-manager with these controllers alone. */
export async function startKcm({ kcmControllers }: Subject, kubeconfig: string): Promise<RunningProcess> {
  const program = join(await builtKubernetesProgram('kube-controller-manager'), 'kube-controller-manager');
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${kcmControllers.join(',')}`,
    '--leader-elect=false',
    '--secure-port=0',
    `--kube-api-qps=${REQUESTS_PER_SECOND}`,
    `--kube-api-burst=${2 * REQUESTS_PER_SECOND}`,
  ];
  return startProcess(program, args, { environment: {} });
}
