import { toFleetGcError } from '../../../packages/process/errors.ts';
import { evenChoice, type Random, seededRandom } from '../../sim/random.ts';
import type { ChaosNode, LivelyKubelet } from './chaos-node.ts';

/** The names that a policy of a campaign may speak of. */
export const REPOSITORIES = {
  /** On the keep list of every policy. */
  always: 'registry.example/always',
  /** On the keep list of some. */
  team: 'registry.example/team',
  usual: 'registry.example/shop',
} as const;
/** In the keep list of every policy. */
export const KEPT_NAMESPACE = 'kept';

const MAXIMUM_PODS = 5;
export const ALWAYS_KEPT_IMAGES = 3;
export const TEAM_IMAGES = 4;
const CHANCES = { deploy: 0.5, crash: 0.75, repull: 0.88 } as const;

interface Living {
  readonly kubelet: LivelyKubelet;
  readonly differentImages: number;
  readonly random: Random;
  /** References in the order in which they were first run. */
  readonly past: string[];
}

/** A node in a hurry: pods come, crash, go, and come back with an image that went. One step at a time. */
export function createLife({ kubelet, differentImages }: ChaosNode, seed: number): () => Promise<void> {
  const living = { kubelet, differentImages, random: seededRandom(seed), past: [] };
  return async () => {
    try {
      await step(living);
    } catch (error) {
      unlessSuchIsLife(error);
    }
  };
}

/** A full disk, or an object that went meanwhile. */
function unlessSuchIsLife(error: unknown): void {
  const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
  if (!isFull && toFleetGcError(error).code === 'INTERNAL') throw error;
}

async function step(living: Living): Promise<void> {
  const { random, past } = living;
  const chance = random();
  if (chance < CHANCES.deploy) return deploy(living, newImage(living));
  if (chance < CHANCES.crash) return crash(living);
  const again = evenChoice(random, past);
  if (chance < CHANCES.repull && again !== undefined) return deploy(living, again);
}

function newImage({ random, past, differentImages }: Living): string {
  const kind = random();
  if (kind < 0.1) return `${REPOSITORIES.always}/tool:${Math.floor(random() * ALWAYS_KEPT_IMAGES)}`;
  if (kind < 0.25) return `${REPOSITORIES.team}/app:${Math.floor(random() * TEAM_IMAGES)}`;
  return `${REPOSITORIES.usual}/app:${(past.length % differentImages) + 1}`;
}

async function deploy({ kubelet, random, past }: Living, image: string): Promise<void> {
  past.push(image);
  const namespace = random() < 0.15 ? KEPT_NAMESPACE : 'shop';
  const name = `app-${past.length}`;
  try {
    await kubelet.startPod({ name, namespace, containers: { app: image } });
  } finally {
    const pods = [...kubelet.pods.values()];
    const failed = pods.filter((pod) => pod.phase === 'Pending');
    for (const { uid } of [...failed, ...pods.slice(0, -MAXIMUM_PODS)])
      if (kubelet.pods.has(uid)) await kubelet.cleanUpPod(uid);
  }
}

/** A pod on every image that is there and may be unused, as after a deployment is taken back. */
export async function rollBack({ kubelet, imageNames }: ChaosNode): Promise<void> {
  for (const [index, image] of (await imageNames()).entries()) {
    try {
      await kubelet.startPod({ name: `back-${index}`, namespace: 'shop', containers: { app: image } });
    } catch (error) {
      unlessSuchIsLife(error);
    }
  }
}

async function crash({ kubelet, random }: Living): Promise<void> {
  const pod = evenChoice(random, [...kubelet.pods.values()]);
  if (!pod) return;
  await kubelet.crashPod(pod.uid);
  await kubelet.restartContainers(pod.uid);
}
