import { randomUUID } from 'node:crypto';
import { waitUntil } from '../wait-until.ts';
import { type ContainerdNode, startContainerdNode } from './containerd-node.ts';
import {
  followHealth,
  type HealthAnswers,
  type KubeletPodStatus,
  podsOf,
  previousLog,
  relistings,
} from './kubelet-answers.ts';
import { CONFIGURATION_FOLDER, type KubeletSettings, kubeletConfiguration } from './kubelet-configuration.ts';
import type { NodeOptions } from './node-container.ts';
import { type NodeProcess, startInNode } from './node-process.ts';
import { staticPodManifest, type WantedPod } from './wanted-pod.ts';

const READY_MS = 40_000;
const POD_FOLDER = '/etc/pods';

export interface KubeletNodeOptions extends Omit<NodeOptions, 'runtime' | 'forKubelet'> {
  readonly kubelet?: KubeletSettings;
}

/** The real kubelet of a node: it takes its pods from files, and stands alone unless its settings say otherwise. */
export interface Kubelet {
  /** Gives it a pod of this name; resolves to the pod's UID. */
  put(pod: WantedPod): Promise<string>;
  /** Makes it look at a pod at once: in a backoff of whatever length it would wait for 10 s and more. */
  nudge(pod: WantedPod): Promise<void>;
  /** Deletes a pod. */
  remove(name: string): Promise<void>;
  /** What it answers to `/pods`. */
  pods(): Promise<readonly KubeletPodStatus[]>;
  /** That pod of `/pods`, or `null`. A static pod's name ends in the node's: it is left out here. */
  pod(name: string): Promise<KubeletPodStatus | null>;
  /** What `kubectl logs --previous` shows of a container. Rejects where it finds none. */
  previousLog(pod: string, container: string): Promise<string>;
  /** Asks for its health every second, as whoever would restart it does, until it is disposed of. */
  followHealth(): Promise<HealthAnswers>;
  /** How often its process has listed what the runtime holds, by which it learns of deaths. */
  relistings(): Promise<number>;
  /** SIGTERM, and another process; resolves when that answers. */
  restart(): Promise<void>;
  /** What its processes wrote. */
  output(): string;
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
  const { files, flags } = kubeletConfiguration(settings, { node, podFolder: POD_FOLDER });
  for (const [file, content] of Object.entries(files)) await write(node, CONFIGURATION_FOLDER, file, content);
  const processes = [await startProcess(node, flags)];
  const pods = (): Promise<readonly KubeletPodStatus[]> => podsOf(node);
  const uids = new Map<string, string>();
  let number = 0;
  const place = async (pod: WantedPod): Promise<void> => {
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
    previousLog: (pod, container) => previousLog(node, `${pod}-${node.name}`, container),
    followHealth: () => followHealth(node),
    relistings: () => relistings(node),
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
