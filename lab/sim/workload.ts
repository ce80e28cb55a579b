import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linuxClock } from '../../packages/machine/clock.ts';
import { openStateDirectory } from '../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { cachePods, type ManagedNode } from '../../services/node/managed-node.ts';
import { runNode } from '../../services/node/run-node.ts';
import type { PodManifest } from './kubelet.ts';
import { type SimulatedNode, startSimulatedNode } from './node.ts';
import { evenChoice, type Random, seededRandom, zipfChoice } from './random.ts';
import {
  type Application,
  applicationName,
  applicationNamespace,
  CATALOGUE,
  versionOf,
} from './runtime/objects.ts';
import { sizeOf, writeContainerLog } from './runtime/runtime.ts';

/** Something that happened on the node, for a line of text. */
export type WorkloadEvent =
  | { readonly kind: 'deployed'; readonly pod: string; readonly image: string }
  | { readonly kind: 'replaced' | 'deleted' | 'crashed' | 'finished'; readonly pod: string }
  | { readonly kind: 'start-failed'; readonly image: string; readonly message: string };

interface WorkloadOptions {
  readonly node: SimulatedNode;
  /** The same seed gives the same workload, as long as nobody else acts on the node. */
  readonly seed: number;
  /** More pods than that are not run at a time. */
  readonly maximumPods: number;
}

/** How often in a step; logs grow in every one. */
const CHANCE = { release: 0.6, crash: 0.35, delete: 0.08, finish: 0.08 };

/** What the steps share. */
interface World extends WorkloadOptions {
  readonly random: Random;
  /** Application to the number of its newest release. */
  readonly releases: Map<Application, number>;
  deployments: number;
}

/** A busy node: deployments, crashes and logs, one step at a time. */
interface Workload {
  /** Lets a little happen. Does not reject for what a full disk or a removed object does. */
  step(): Promise<readonly WorkloadEvent[]>;
}

export function createWorkload(options: WorkloadOptions): Workload {
  const world: World = {
    ...options,
    random: seededRandom(options.seed),
    releases: new Map(),
    deployments: 0,
  };
  return {
    step: async () => {
      const events = [
        ...(await restartCrashed(world)),
        ...(await deploy(world)),
        ...happens(world, CHANCE.crash, crash),
        ...happens(world, CHANCE.finish, finish),
        ...happens(world, CHANCE.delete, remove),
      ];
      await growLogs(world);
      return events;
    },
  };
}

/** Takes a step at each tick, until there are no more. */
export async function runWorkload(
  workload: Workload,
  ticks: AsyncIterable<unknown>,
  report: (events: readonly WorkloadEvent[]) => void,
): Promise<void> {
  for await (const _ of ticks) report(await workload.step());
}

/** Takes steps until the disk is used to `percent`, at most `maximumSteps`. */
export async function runUntilUsed(
  workload: Workload,
  node: SimulatedNode,
  { percent, maximumSteps }: { readonly percent: number; readonly maximumSteps: number },
): Promise<void> {
  for (let step = 0; step < maximumSteps && (await usedPercent(node)) < percent; step += 1)
    await workload.step();
}

async function usedPercent({ filesystems }: SimulatedNode): Promise<number> {
  const { imagefs } = await filesystems.read();
  if (!imagefs?.capacityBytes || !imagefs.availableBytes) return 0;
  return 100 - Number((BigInt(imagefs.availableBytes) * 100n) / BigInt(imagefs.capacityBytes));
}

function startFailed(image: string, error: unknown): WorkloadEvent {
  if (!(error instanceof FleetGcError)) throw error;
  return { kind: 'start-failed', image, message: error.message };
}

/** Deploys an application, mostly in a new release, in place of the oldest pod when there are enough. */
async function deploy(world: World): Promise<WorkloadEvent[]> {
  const application = zipfChoice(world.random, CATALOGUE);
  const image = nextRelease(world, application);
  world.deployments += 1;
  const manifest = podManifestFor(application, image, world.deployments);
  try {
    await world.node.kubelet.startPod(manifest);
    return [{ kind: 'deployed', pod: manifest.name, image }, ...(await deleteOldestPods(world))];
  } catch (error) {
    giveUp(world, manifest);
    return [startFailed(image, error)];
  }
}

function nextRelease({ random, releases }: World, application: Application): string {
  const newest = releases.get(application) ?? 1;
  const release = random() < CHANCE.release ? newest + 1 : newest;
  releases.set(application, release);
  return versionOf(application, release);
}

const podManifestFor = (application: Application, image: string, number: number): PodManifest => ({
  name: `${applicationName(application)}-${number}`,
  namespace: applicationNamespace(application),
  containers: { app: image, ...(application.sidecar ? { proxy: application.sidecar } : {}) },
});

/** The oldest pods make room for new ones, as in a rollout; the kubelet cleans up after them. */
async function deleteOldestPods({ node: { kubelet }, maximumPods }: World): Promise<WorkloadEvent[]> {
  const tooMany = [...kubelet.pods.values()].slice(0, -maximumPods);
  for (const { uid } of tooMany) await kubelet.cleanUpPod(uid);
  return tooMany.map(({ name }) => ({ kind: 'replaced', pod: name }));
}

/** A pod whose image could not start does not stand in the list for ever. */
function giveUp({ node: { kubelet } }: World, { name }: PodManifest): void {
  for (const pod of kubelet.pods.values()) if (pod.name === name) kubelet.deletePod(pod.uid);
}

const LOG_GROWTH_BYTES = 3_000_000;

/** One running pod ends, with the given chance: it crashes, finishes or is deleted. */
function happens(
  world: World,
  chance: number,
  act: (world: World, uid: string) => 'crashed' | 'finished' | 'deleted',
): WorkloadEvent[] {
  const running = [...world.node.kubelet.pods.values()].filter(({ phase }) => phase === 'Running');
  const pod = evenChoice(world.random, running);
  if (world.random() >= chance || !pod) return [];
  return [{ kind: act(world, pod.uid), pod: pod.name }];
}

function crash({ node }: World, uid: string): 'crashed' {
  node.kubelet.crashPod(uid);
  return 'crashed';
}

function finish({ node }: World, uid: string): 'finished' {
  node.kubelet.finishPod(uid);
  return 'finished';
}

function remove({ node }: World, uid: string): 'deleted' {
  node.kubelet.deletePod(uid);
  return 'deleted';
}

/** One after the other, so that ids come in the same order in every run. */
async function restartCrashed({ node: { kubelet } }: World): Promise<WorkloadEvent[]> {
  const crashed = [...kubelet.pods.values()].filter(
    ({ uid, phase }) => phase === 'Running' && kubelet.hasStopped(uid),
  );
  const failed: WorkloadEvent[] = [];
  for (const { uid, images } of crashed)
    await kubelet
      .restartContainers(uid)
      .catch((error: unknown) => failed.push(startFailed(images.join(', '), error)));
  return failed;
}

async function growLogs({ node, random }: World): Promise<void> {
  for (const { state, logFile } of node.runtime.containers.values())
    if (state === 'running' && logFile !== '')
      await writeContainerLog(logFile, sizeOf(logFile) + BigInt(Math.floor(random() * LOG_GROWTH_BYTES)));
}

interface SimulatedNodeSettings {
  readonly cluster: string;
  readonly name: string;
  /** For the socket, the logs and the state; short, since a socket path has at most 107 bytes. */
  readonly directory: string;
  readonly capacityBytes: bigint;
  /** The node has lived until its disk is used to this percentage when it joins. */
  readonly startPercent: number;
  readonly seed: number;
  /** How long between two steps of its life. */
  readonly stepMs: number;
  /** What the node's own people want, as a real one has it; nothing of its own when not given. */
  readonly localFile?: string | undefined;
}

/** What of the disk is neither images nor containers nor logs. */
const OTHER_PERCENT = 15n;
const MAXIMUM_PODS = 6;
const MOST_STEPS_BEFORE = 500;

/**
 * A node that is made up, with a real agent and a real executor on its real CRI socket, living a busy life until the
 * signal aborts.
 */
export async function runSimulatedNode(
  process: ServiceProcess,
  options: SimulatedNodeSettings,
  signal: AbortSignal,
): Promise<void> {
  const { directory, name, capacityBytes, seed, startPercent: percent } = options;
  await mkdir(directory, { recursive: true });
  await using simulated = await startSimulatedNode({
    name,
    directory,
    clock: linuxClock(),
    capacityBytes,
    otherBytes: (capacityBytes * OTHER_PERCENT) / 100n,
    hasContainerdApi: true,
  });
  const workload = createWorkload({ node: simulated, seed, maximumPods: MAXIMUM_PODS });
  await runUntilUsed(workload, simulated, { percent, maximumSteps: MOST_STEPS_BEFORE });
  const node = managed(simulated, options);
  const { podLogsDir, containerLogsDir } = simulated;
  const named = options.localFile;
  const localFile = { path: named ?? join(directory, 'node.yaml'), isNamed: named !== undefined };
  const executor = { podLogsDir, containerLogsDir, localFile };
  await Promise.all([
    runWorkload(workload, ticks(process, options.stepMs, signal), () => {}),
    runNode({ process, node, signal }, { policies: process.followPolicies(null), options: executor }),
  ]);
}

function managed(simulated: SimulatedNode, { cluster, name, directory }: SimulatedNodeSettings): ManagedNode {
  const state = openStateDirectory(join(directory, 'state'), `simulated ${cluster}/${name}`);
  return {
    identity: { cluster, node: name, nodeInstance: state.nodeInstance },
    nodeLabels: {},
    runtimeEndpoint: simulated.endpoint,
    imageLayers: true,
    clock: simulated.clock,
    state,
    filesystems: () => simulated.filesystems,
    podLogs: simulated,
    pods: cachePods(simulated.kubelet, ['api']),
    podSources: ['api'],
  };
}

async function* ticks(
  { sources }: ServiceProcess,
  stepMs: number,
  signal: AbortSignal,
): AsyncGenerator<void> {
  while (!signal.aborted) {
    await sources.wait(stepMs, signal);
    if (!signal.aborted) yield;
  }
}
