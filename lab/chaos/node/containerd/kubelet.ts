import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeReader, RuntimeRemover } from '../../../../packages/cri/port.ts';
import { kubeletLabels, type PodSpec, type Workload } from '../../../../test/support/nodes/cri-workload.ts';
import { type PodManifest, uidOf } from '../../../sim/kubelet.ts';
import type { LivelyKubelet } from '../chaos-node.ts';
import type { RuntimeAccount } from './account.ts';

interface Container {
  readonly id: string;
  readonly name: string;
  readonly logLink: string;
}

interface Pod {
  readonly uid: string;
  readonly manifest: PodManifest;
  readonly spec: PodSpec;
  phase: 'Pending' | 'Running';
  sandboxId: string | null;
  attempts: number;
  running: readonly Container[];
  readonly logLinks: string[];
}

interface KubeletParts {
  readonly nodeName: string;
  readonly account: RuntimeAccount;
  readonly workload: Workload;
  readonly reader: RuntimeReader;
  readonly remover: RuntimeRemover;
  /** As this machine sees them. */
  readonly logs: { readonly podLogsDir: string; readonly containerLogsDir: string };
}

/** Where containerd sees the logs of pods. */
const LOGS_IN_NODE = '/var/log/pods';

/** Runs pods on a real runtime, as a kubelet does that pulls what is missing and collects what it deletes. */
export class ContainerdKubelet implements LivelyKubelet {
  readonly pods = new Map<string, Pod>();
  readonly #parts: KubeletParts;
  #admitted = 0;

  constructor(parts: KubeletParts) {
    this.#parts = parts;
  }

  async startPod(manifest: PodManifest): Promise<void> {
    this.#admitted += 1;
    const uid = uidOf(`${this.#parts.nodeName}/${this.#admitted}`);
    const { name, namespace } = manifest;
    const directory = `${namespace}_${name}_${uid}`;
    const labels = kubeletLabels({ uid, name, namespace });
    const spec = { uid, name, namespace, attempt: 0, labels, logDirectory: `${LOGS_IN_NODE}/${directory}` };
    const pod: Pod = {
      uid,
      manifest,
      spec,
      phase: 'Pending',
      sandboxId: null,
      attempts: 0,
      running: [],
      logLinks: [],
    };
    this.pods.set(uid, pod);
    await this.#startContainers(pod);
  }

  async crashPod(uid: string): Promise<void> {
    const { account, remover } = this.#parts;
    const pod = this.#known(uid);
    for (const { id } of pod.running) await account.hold('life', () => remover.stopContainer(id, 0));
    pod.running = [];
  }

  async restartContainers(uid: string): Promise<void> {
    const pod = this.#known(uid);
    pod.attempts += 1;
    await this.#startContainers(pod);
  }

  async cleanUpPod(uid: string): Promise<void> {
    const { account, remover, reader, logs } = this.#parts;
    const pod = this.#known(uid);
    this.pods.delete(uid);
    const { sandboxId } = pod;
    if (sandboxId !== null)
      await account.hold('life', async () => {
        await remover.stopSandbox(sandboxId);
        const containers = (await reader.listContainers()).filter((one) => one.sandboxId === sandboxId);
        for (const { id } of containers) await remover.removeContainer(id);
        await remover.removeSandbox(sandboxId);
      });
    for (const link of pod.logLinks) await rm(link, { force: true });
    await rm(join(logs.podLogsDir, directoryOf(pod)), { recursive: true, force: true });
  }

  async #startContainers(pod: Pod): Promise<void> {
    const { account, workload, logs } = this.#parts;
    for (const image of Object.values(pod.manifest.containers)) await this.#pullMissing(image);
    for (const name of Object.keys(pod.manifest.containers))
      await mkdir(join(logs.podLogsDir, directoryOf(pod), name), { recursive: true });
    pod.sandboxId ??= await account.hold('life', () => workload.runSandbox(pod.spec));
    for (const [name, image] of Object.entries(pod.manifest.containers))
      await this.#startContainer(pod, pod.sandboxId, { name, image });
    pod.phase = 'Running';
  }

  /** A pull is no change by one hand alone: others go on meanwhile. */
  async #pullMissing(image: string): Promise<void> {
    const { account, workload, reader } = this.#parts;
    const isThere = (await reader.listImages()).some(({ repoTags }) => repoTags.includes(image));
    if (isThere) return;
    await workload.pullImage(image);
    await account.hold('life', async () => undefined);
  }

  async #startContainer(
    pod: Pod,
    sandboxId: string,
    { name, image }: { readonly name: string; readonly image: string },
  ): Promise<void> {
    const { account, workload, logs } = this.#parts;
    const { spec, attempts } = pod;
    const container = {
      name,
      attempt: attempts,
      image,
      command: [],
      labels: { ...kubeletLabels(spec), 'io.kubernetes.container.name': name },
      logPath: `${name}/${attempts}.log`,
      imageMounts: [],
    };
    const id = await account.hold('life', () => workload.createContainer(sandboxId, spec, container));
    const logLink = join(logs.containerLogsDir, `${spec.name}_${spec.namespace}_${name}-${id}.log`);
    await symlink(join(logs.podLogsDir, directoryOf(pod), container.logPath), logLink);
    pod.logLinks.push(logLink);
    await account.hold('life', () => workload.startContainer(id));
    pod.running = [...pod.running, { id, name, logLink }];
  }

  #known(uid: string): Pod {
    const pod = this.pods.get(uid);
    if (pod) return pod;
    throw new Error(`there is no pod ${uid}`);
  }
}

const directoryOf = ({ uid, spec }: Pod): string => `${spec.namespace}_${spec.name}_${uid}`;
