import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';
import { linkContainerLog, type PodLogRoots, unlinkContainerLog } from '../runtime/container-logs.ts';
import type { Faults } from '../runtime/faults.ts';
import type { SimulatedRuntime } from '../runtime/runtime.ts';
import type { Pod } from './kubelet-pod.ts';

export interface KubeletParts {
  readonly nodeName: string;
  readonly runtime: SimulatedRuntime;
  readonly faults: Faults;
  readonly podLogs: PodLogRoots;
}

const podLabels = ({ uid, name, namespace }: KubeletPod) => ({
  'io.kubernetes.pod.name': name,
  'io.kubernetes.pod.namespace': namespace,
  'io.kubernetes.pod.uid': uid,
});

const logDirectoryOf = ({ podLogsDir }: PodLogRoots, { namespace, name, uid }: Pod): string =>
  join(podLogsDir, `${namespace}_${name}_${uid}`);

const sandboxOf = (podLogs: PodLogRoots, pod: Pod) => ({
  metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: pod.sandboxes },
  logDirectory: logDirectoryOf(podLogs, pod),
  labels: podLabels(pod),
  annotations: { 'kubernetes.io/config.source': pod.source },
});

/** As a kubelet does: what is missing is pulled, a sandbox that is not ready is followed by another. */
export async function startContainers(parts: KubeletParts, pod: Pod): Promise<void> {
  const { runtime } = parts;
  for (const image of pod.images) if (!runtime.findImage(image)) await runtime.pullImage(image);
  if (runtime.sandboxes.get(pod.sandboxId)?.state !== 'ready') {
    pod.sandboxId = runtime.runSandbox(sandboxOf(parts.podLogs, pod));
    pod.sandboxes += 1;
  }
  const running = runningContainers(runtime, pod).map(({ name }) => name);
  for (const [name, image] of Object.entries(pod.manifest.containers))
    if (!running.includes(name)) await startContainer(parts, pod, { name, image });
  pod.phase = 'Running';
}

async function startContainer(
  { runtime, podLogs }: KubeletParts,
  pod: Pod,
  { name, image }: { readonly name: string; readonly image: string },
): Promise<void> {
  const id = runtime.createContainer({
    sandboxId: pod.sandboxId,
    name,
    attempt: pod.attempts,
    image: runtime.findImage(image)?.id ?? image,
    userSpecifiedImage: image,
    mountedImages: [],
    labels: { ...podLabels(pod), 'io.kubernetes.container.name': name },
    annotations: {},
    logPath: `${name}/${pod.attempts}.log`,
  });
  await linkContainerLog(podLogs, runtime.container(id));
  await runtime.startContainer(id);
}

/** What a pod leaves behind: its sandboxes with their containers, and its logs with the symlinks to them. */
export async function removeRemains({ runtime, podLogs }: KubeletParts, pod: Pod): Promise<void> {
  const sandboxes = [...runtime.sandboxes.values()].filter(({ metadata }) => metadata.uid === pod.uid);
  const ids = new Set(sandboxes.map(({ id }) => id));
  const containers = [...runtime.containers.values()].filter(({ sandboxId }) => ids.has(sandboxId));
  for (const id of ids) {
    runtime.stopSandbox(id);
    runtime.removeSandbox(id);
  }
  for (const container of containers) await unlinkContainerLog(podLogs, container);
  await rm(logDirectoryOf(podLogs, pod), { recursive: true, force: true });
}

export function stopContainers(runtime: SimulatedRuntime, pod: Pod): void {
  for (const { id } of runningContainers(runtime, pod)) runtime.stopContainer(id);
}

export const runningContainers = (runtime: SimulatedRuntime, { sandboxId }: Pod) =>
  [...runtime.containers.values()].filter(
    (container) => container.sandboxId === sandboxId && container.state === 'running',
  );
