import { randomUUID } from 'node:crypto';
import { connectWorkload, kubeletLabels, type PodSpec } from './nodes/cri-workload.ts';
import { NODE_RUNTIMES } from './nodes/node-runtimes.ts';
import type { RealNode } from './nodes/real-node.ts';

const LOGS = '/var/log/pods';
const LINKS = '/var/log/containers';

export interface PodOptions {
  readonly name: string;
  readonly image: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly attempt?: number;
  /** What its container runs; by default what the image says. */
  readonly command?: readonly string[];
}

export interface Pod {
  readonly spec: PodSpec;
  readonly sandboxId: string;
  readonly containerId: string;
  /** The container's log, and the link that the kubelet sets to it. */
  readonly logFile: string;
  readonly logLink: string;
}

/** Runs a pod with one container named `main`, with labels, log files and link as a kubelet makes them. */
export async function runPod(node: RealNode, options: PodOptions): Promise<Pod> {
  using workload = connectWorkload(node.endpoint);
  const spec = podSpec(options);
  await node.exec(['mkdir', '-p', `${spec.logDirectory}/main`]);
  const sandboxId = await workload.runSandbox(spec);
  const containerId = await addContainer(node, { spec, sandboxId }, options);
  return { spec, sandboxId, containerId, ...logPaths(spec, containerId, 0) };
}

/** One more container of a pod, as after a crash: the same name, the next attempt. */
export async function restartContainer(
  node: RealNode,
  pod: Pod,
  options: PodOptions,
  attempt: number,
): Promise<Pod> {
  const containerId = await addContainer(node, pod, options, attempt);
  return { ...pod, containerId, ...logPaths(pod.spec, containerId, attempt) };
}

/** Kills a container's process, as a crash or the OOM killer would. */
export async function killContainer(node: RealNode, containerId: string): Promise<void> {
  await node.exec(NODE_RUNTIMES[node.runtimeName].killing(containerId));
}

async function addContainer(
  node: RealNode,
  { spec, sandboxId }: Pick<Pod, 'spec' | 'sandboxId'>,
  { image, command = [] }: PodOptions,
  attempt = 0,
): Promise<string> {
  using workload = connectWorkload(node.endpoint);
  const labels = { ...kubeletLabels(spec), 'io.kubernetes.container.name': 'main' };
  const container = {
    name: 'main',
    attempt,
    image,
    command,
    labels,
    logPath: `main/${attempt}.log`,
    imageMounts: [],
  };
  const containerId = await workload.createContainer(sandboxId, spec, container);
  await workload.startContainer(containerId);
  const { logFile, logLink } = logPaths(spec, containerId, attempt);
  await node.exec(['ln', '-s', logFile, logLink]);
  return containerId;
}

function podSpec({ name, namespace = 'default', uid = randomUUID(), attempt = 0 }: PodOptions): PodSpec {
  const labels = kubeletLabels({ name, namespace, uid });
  return { uid, name, namespace, attempt, labels, logDirectory: `${LOGS}/${namespace}_${name}_${uid}` };
}

function logPaths(spec: PodSpec, containerId: string, attempt: number): Pick<Pod, 'logFile' | 'logLink'> {
  return {
    logFile: `${spec.logDirectory}/main/${attempt}.log`,
    logLink: `${LINKS}/${spec.name}_${spec.namespace}_main-${containerId}.log`,
  };
}
