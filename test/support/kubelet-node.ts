import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type ContainerdNode, startContainerdNode } from './containerd-node.ts';
import { type KubeletSettings, kubeletConfiguration } from './kubelet-configuration.ts';
import type { NodeOptions } from './node-container.ts';
import { type NodeProcess, startInNode } from './node-process.ts';
import { type StaticPod, staticPodManifest } from './static-pod.ts';
import { waitUntil } from './wait-until.ts';

const READY_MS = 40_000;
const POD_FOLDER = '/etc/pods';
const READ_ONLY_PORT = 10255;
/** Where it shows logs too, with a certificate that it signed itself. */
const FULL_URL = 'https://127.0.0.1:10250';
const HEALTH_URL = 'http://127.0.0.1:10248/healthz';
/** Where `fleetgc node` asks for pods. */
export const REAL_KUBELET_URL = `http://127.0.0.1:${READ_ONLY_PORT}`;

export interface KubeletNodeOptions extends Omit<NodeOptions, 'runtime' | 'forKubelet'> {
  readonly kubelet?: KubeletSettings;
}

/** The real kubelet of a node: it stands alone, and takes its pods from files. */
export interface Kubelet {
  /** Gives it a pod of this name; resolves to the pod's UID. */
  put(pod: StaticPod): Promise<string>;
  /** Makes it look at a pod at once: in a back-off of whatever length it would wait for 10 s and more. */
  nudge(pod: StaticPod): Promise<void>;
  /** Deletes a pod. */
  remove(name: string): Promise<void>;
  /** What it answers to `/pods`. */
  pods(): Promise<readonly KubeletPodStatus[]>;
  /** That pod of `/pods`, or `null`. A static pod's name ends in the node's: it is left out here. */
  pod(name: string): Promise<KubeletPodStatus | null>;
  /** What `kubectl logs --previous` shows of a container. Rejects where it finds none. */
  previousLog(pod: string, container: string): Promise<string>;
  /** Capacity of the disk of images, as it reads it; rejects while it has no statistics. */
  imageDiskBytes(): Promise<number>;
  /** Asks for its health every second, as whoever would restart it does, until it is disposed of. */
  followHealth(): Promise<HealthAnswers>;
  /** SIGTERM, and another process; resolves when that answers. */
  restart(): Promise<void>;
  /** What its processes wrote. */
  output(): string;
}

/** What it answered so far, each answer once; `ok` is the only good one. */
export interface HealthAnswers extends AsyncDisposable {
  answers(): readonly string[];
}

/** A node with real containerd and the real kubelet, which collects nothing unless its settings say so. */
export interface KubeletNode extends ContainerdNode {
  readonly kubelet: Kubelet;
}

/** Starts the node and its kubelet; resolves when that answers to `/pods`. */
export async function startKubeletNode(options: KubeletNodeOptions = {}): Promise<KubeletNode> {
  await using starting = new AsyncDisposableStack();
  const node = starting.use(await startContainerdNode({ ...options, forKubelet: true }));
  const kubelet = starting.use(await startKubelet(node, options.kubelet ?? {}));
  const stack = starting.move();
  return { ...node, kubelet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function startKubelet(
  node: ContainerdNode,
  settings: KubeletSettings,
): Promise<Kubelet & AsyncDisposable> {
  const { configuration, flags } = kubeletConfiguration(settings, { node, podFolder: POD_FOLDER });
  await write(node, '/etc/kubernetes', 'kubelet.json', configuration);
  const processes = [await startProcess(node, flags)];
  const pods = (): Promise<readonly KubeletPodStatus[]> => podsOf(node);
  const uids = new Map<string, string>();
  let number = 0;
  const place = async (pod: StaticPod): Promise<void> => {
    const manifest = staticPodManifest(pod, uids.get(pod.name) ?? '', number++);
    await write(node, POD_FOLDER, `${pod.name}.json`, manifest);
  };
  return {
    put: async (pod) => {
      const uid = randomUUID();
      uids.set(pod.name, uid);
      await place(pod);
      return uid;
    },
    nudge: place,
    remove: async (name) => void (await node.exec(['rm', `${POD_FOLDER}/${name}.json`])),
    pods,
    pod: async (name) =>
      (await pods()).find(({ metadata }) => metadata.name === `${name}-${node.name}`) ?? null,
    previousLog: (pod, container) =>
      get(node, `${FULL_URL}/containerLogs/default/${pod}-${node.name}/${container}?previous=true`),
    imageDiskBytes: async () => {
      const { node: told } = Statistics.parse(JSON.parse(await getPlain(node, '/stats/summary')));
      return told.runtime.imageFs.capacityBytes;
    },
    followHealth: () => followHealth(node),
    restart: async () => {
      await end(processes.at(-1));
      processes.push(await startProcess(node, flags));
    },
    output: () => processes.map((process) => process.output()).join(''),
    [Symbol.asyncDispose]: () => end(processes.at(-1)),
  };
}

async function startProcess(node: ContainerdNode, flags: readonly string[]): Promise<NodeProcess> {
  const process = await startInNode(node, ['/usr/local/sbin/run-kubelet', ...flags]);
  await waitUntil(`the kubelet of ${node.name} to answer`, READY_MS, async () => {
    await podsOf(node);
    return true;
  }).catch((cause: unknown) => {
    throw new Error(`${String(cause)}; it said last:\n${process.output().slice(-3000)}`, { cause });
  });
  return process;
}

const ASK_FOR_HEALTH = `while :; do timeout 5 busybox wget -q -O - ${HEALTH_URL} 2>&1 || true; echo; sleep 1; done`;

async function followHealth(node: ContainerdNode): Promise<HealthAnswers> {
  const asking = await startInNode(node, ['sh', '-c', ASK_FOR_HEALTH]);
  return {
    answers: () => [...new Set(asking.output().split('\n').filter(Boolean))],
    [Symbol.asyncDispose]: asking[Symbol.asyncDispose],
  };
}

async function end(process: NodeProcess | undefined): Promise<void> {
  await process?.signal('SIGTERM').catch(() => {});
  await process?.exited;
}

/** A file appears whole, since the kubelet takes whatever it finds, save what begins with a dot. */
async function write(node: ContainerdNode, folder: string, file: string, content: unknown): Promise<void> {
  const unfinished = `.${randomUUID()}`;
  const script = 'mkdir -p "$2" && cd "$2" && printf %s "$1" > "$3" && mv "$3" "$4"';
  await node.exec(['sh', '-c', script, 'sh', JSON.stringify(content), folder, unfinished, file]);
}

async function podsOf(node: ContainerdNode): Promise<readonly KubeletPodStatus[]> {
  return PodList.parse(JSON.parse(await getPlain(node, '/pods'))).items ?? [];
}

const getPlain = (node: ContainerdNode, path: string): Promise<string> =>
  node.exec(['busybox', 'wget', '-q', '-O', '-', `${REAL_KUBELET_URL}${path}`]);

const GET = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');
const response = await fetch(process.argv[1]);
if (!response.ok) throw new Error(String(response.status) + ' ' + (await response.text()));
process.stdout.write(await response.text());`;

/** The node's busybox speaks no TLS. */
function get(node: ContainerdNode, url: string): Promise<string> {
  return node.exec(['/opt/fleetgc/node_modules/.bin/node', '--input-type=module', '-e', GET, url]);
}

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

const Statistics = z.object({
  node: z.object({ runtime: z.object({ imageFs: z.object({ capacityBytes: z.int() }) }) }),
});

const PodList = z.object({ items: z.array(PodStatus).nullable() });
