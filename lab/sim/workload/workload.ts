import { FleetGcError } from '../../../packages/process/errors.ts';
import type { PodManifest } from '../kubelet/kubelet-pod.ts';
import type { SimulatedNode } from '../node/simulated-node.ts';
import {
  type Application,
  applicationName,
  applicationNamespace,
  CATALOGUE,
  versionOf,
} from '../runtime/catalogue.ts';
import { sizeOf, writeContainerLog } from '../runtime/container-logs.ts';
import { evenChoice, type Random, seededRandom, zipfChoice } from './random.ts';

/** Something that happened on the node, for a line of text. */
export type WorkloadEvent =
  | { readonly kind: 'deployed'; readonly pod: string; readonly image: string }
  | { readonly kind: 'replaced' | 'deleted' | 'crashed' | 'finished'; readonly pod: string }
  | { readonly kind: 'start-failed'; readonly image: string; readonly message: string };

export interface WorkloadOptions {
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
export interface Workload {
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
