import type { PodWish } from '../kubelet/kubelet-pod.ts';
import {
  type Application,
  applicationName,
  applicationNamespace,
  CATALOGUE,
  versionOf,
} from '../runtime/catalogue.ts';
import { CHANCE, type LifeEvent, startFailed, type World } from './life-world.ts';
import { zipfChoice } from './random.ts';

/** Deploys an application, mostly in a new release, in place of the oldest pod when there are enough. */
export async function deploy(world: World): Promise<LifeEvent[]> {
  const application = zipfChoice(world.random, CATALOGUE);
  const image = nextRelease(world, application);
  world.deployments += 1;
  const wish = wishFor(application, image, world.deployments);
  try {
    await world.node.kubelet.startPod(wish);
    return [{ kind: 'deployed', pod: wish.name, image }, ...(await makeRoom(world))];
  } catch (error) {
    giveUp(world, wish);
    return [startFailed(image, error)];
  }
}

function nextRelease({ random, releases }: World, application: Application): string {
  const newest = releases.get(application) ?? 1;
  const release = random() < CHANCE.release ? newest + 1 : newest;
  releases.set(application, release);
  return versionOf(application, release);
}

const wishFor = (application: Application, image: string, number: number): PodWish => ({
  name: `${applicationName(application)}-${number}`,
  namespace: applicationNamespace(application),
  containers: { app: image, ...(application.sidecar ? { proxy: application.sidecar } : {}) },
});

/** The oldest pods make room for new ones, as in a rollout; the kubelet cleans up after them. */
async function makeRoom({ node: { kubelet }, maximumPods }: World): Promise<LifeEvent[]> {
  const tooMany = [...kubelet.pods.values()].slice(0, -maximumPods);
  for (const { uid } of tooMany) await kubelet.cleanUpPod(uid);
  return tooMany.map(({ name }) => ({ kind: 'replaced', pod: name }));
}

/** A pod whose image could not start does not stand in the list for ever. */
function giveUp({ node: { kubelet } }: World, { name }: PodWish): void {
  for (const pod of kubelet.pods.values()) if (pod.name === name) kubelet.deletePod(pod.uid);
}
