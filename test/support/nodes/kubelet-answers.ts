import { z } from 'zod';
import type { ContainerdNode } from './containerd-node.ts';
import { startInNode } from './node-process.ts';

/** Where `fleetgc node` asks for pods. */
export const REAL_KUBELET_URL = 'http://127.0.0.1:10255';
/** Where it shows logs too, with a certificate that it signed itself. */
const FULL_URL = 'https://127.0.0.1:10250';
const HEALTH_URL = 'http://127.0.0.1:10248/healthz';

const ContainerStatus = z.object({
  name: z.string(),
  restartCount: z.int(),
  containerID: z.string().optional(),
  state: z.record(z.string(), z.unknown()).optional(),
  lastState: z.record(z.string(), z.unknown()).optional(),
});

const PodStatus = z.object({
  metadata: z.object({ uid: z.string(), name: z.string(), namespace: z.string() }),
  status: z.object({
    phase: z.string().optional(),
    reason: z.string().optional(),
    containerStatuses: z.array(ContainerStatus).default([]),
    initContainerStatuses: z.array(ContainerStatus).default([]),
  }),
});
export type KubeletPodStatus = z.infer<typeof PodStatus>;

const PodList = z.object({ items: z.array(PodStatus).nullable() });

/** The answer of a node's kubelet to `/pods`. Rejects while it gives none. */
export async function podsOf(node: ContainerdNode): Promise<readonly KubeletPodStatus[]> {
  return PodList.parse(JSON.parse(await getPlain(node, '/pods'))).items ?? [];
}

/** How often the kubelet has listed what the runtime holds, by which it learns of deaths. */
export async function relistings(node: ContainerdNode): Promise<number> {
  const [, count] =
    /^kubelet_pleg_relist_duration_seconds_count (\d+)$/m.exec(await getPlain(node, '/metrics')) ?? [];
  if (count === undefined) throw new Error(`the kubelet of ${node.name} does not count its relistings`);
  return Number(count);
}

const getPlain = (node: ContainerdNode, path: string): Promise<string> =>
  node.exec(['busybox', 'wget', '-q', '-O', '-', `${REAL_KUBELET_URL}${path}`]);

const GET = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');
const response = await fetch(process.argv[1]);
if (!response.ok) throw new Error(String(response.status) + ' ' + (await response.text()));
process.stdout.write(await response.text());`;

/** What `kubectl logs --previous` shows of a container of a pod in `default`. The node's busybox speaks no TLS. */
export function previousLog(node: ContainerdNode, pod: string, container: string): Promise<string> {
  const url = `${FULL_URL}/containerLogs/default/${pod}/${container}?previous=true`;
  return node.exec(['/opt/fleetgc/node_modules/.bin/node', '--input-type=module', '-e', GET, url]);
}

/** What the kubelet answered about its health so far, each answer once; `ok` is the only good one. */
export interface HealthAnswers extends AsyncDisposable {
  answers(): readonly string[];
}

const ASK_FOR_HEALTH = `
while :; do
  timeout 50 busybox wget -q -O - ${HEALTH_URL} 2>&1 || echo no answer
  echo
  sleep 1
done`;

/** Asks a node's kubelet for its health every second, as whoever would restart it does, until it is disposed of. */
export async function followHealth(node: ContainerdNode): Promise<HealthAnswers> {
  const asking = await startInNode(node, ['sh', '-c', ASK_FOR_HEALTH]);
  return {
    answers: () => [...new Set(asking.output().split('\n').filter(Boolean))],
    [Symbol.asyncDispose]: asking[Symbol.asyncDispose],
  };
}
