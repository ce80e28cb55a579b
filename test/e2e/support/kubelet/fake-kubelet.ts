import { startInNode } from '../../../support/nodes/node-process.ts';
import type { RealNode } from '../../../support/nodes/real-node.ts';
import type { Pod } from '../../../support/pods.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const PORT = 10255;
/** Where `fleetgc node` asks for pods. */
export const KUBELET_URL = `http://127.0.0.1:${PORT}`;
/** What the kubelet answers; it lies apart from the node's disk. */
const PODS_FILE = '/run/fleetgc-node/pods.json';
const PROGRAM = [
  '/opt/fleetgc/node_modules/.bin/node',
  '/opt/fleetgc/test/e2e/support/kubelet/fake-kubelet-process.ts',
];
const START_MS = 20_000;

/** A pod as the kubelet tells of it. */
export interface KubeletPodFacts {
  readonly pod: { readonly spec: Pick<Pod['spec'], 'uid' | 'name' | 'namespace'> };
  readonly image: string;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly deleted?: boolean;
}

/** Answers `/pods` on the node as the kubelet's read-only port does, with what the test says. */
export interface FakeKubelet extends AsyncDisposable {
  /** What it answers from now on; beside these always one pod from the API server that has no containers. */
  tell(pods: readonly KubeletPodFacts[]): Promise<void>;
  /** An empty list, as from a kubelet that has not heard from the API server yet. */
  tellNothing(): Promise<void>;
  /** The process ends; connections break. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startFakeKubelet(node: RealNode): Promise<FakeKubelet> {
  const write = async (items: readonly unknown[]): Promise<void> => {
    const script = `printf %s "$1" > ${PODS_FILE}.next && mv ${PODS_FILE}.next ${PODS_FILE}`;
    await node.exec(['sh', '-c', script, 'sh', JSON.stringify({ kind: 'PodList', items })]);
  };
  const start = async () => {
    const started = await startInNode(node, [...PROGRAM, String(PORT), PODS_FILE]);
    await waitUntil(`the kubelet of ${node.name} to listen`, START_MS, () =>
      started.output().includes('ready'),
    );
    return started;
  };
  await write([]);
  let process = await start();
  const stop = async (): Promise<void> => {
    await process[Symbol.asyncDispose]();
  };
  return {
    tell: (pods) => write([ANCHOR, ...pods.map(podJson)]),
    tellNothing: () => write([]),
    stop,
    start: async () => {
      process = await start();
    },
    [Symbol.asyncDispose]: stop,
  };
}

const fromApi = { annotations: { 'kubernetes.io/config.source': 'api' } };

const ANCHOR = {
  metadata: { uid: 'a-pod-elsewhere', name: 'anchor', namespace: 'kube-system', ...fromApi },
  spec: { containers: [] },
  status: { phase: 'Running' },
};

function podJson({ pod: { spec }, image, phase = 'Running', deleted = false }: KubeletPodFacts): unknown {
  const { uid, name, namespace } = spec;
  const deletion = deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  return {
    metadata: { uid, name, namespace, ...fromApi, ...deletion },
    spec: { containers: [{ name: 'main', image }] },
    status: { phase },
  };
}
