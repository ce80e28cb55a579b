import type { Catalogue, FleetApplication } from '../../sim/fleet/catalogue.ts';
import { drop, hold } from '../../sim/fleet/node.ts';
import { evenChoice, zipfChoice } from '../../sim/random.ts';
import { applicationName, applicationNamespace } from '../../sim/runtime/objects.ts';
import { type NodePod, nextDigest, uuidOf, type World } from './world.ts';

/** How often something happens to a node, per day. */
const PER_DAY = { deploy: 2.5, die: 1, somebodyRemoves: 0.05 } as const;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Logs and data grow, and are tidied up now and then. */
const GROWTH_PERCENT_PER_DAY = 1.2;
const MOST_OTHER_PERCENT = 66n;
const TIDY_OTHER_PERCENT = 52n;

/** What happens on a node between two looks. */
export function passTime(world: World, catalogue: Catalogue, { atMs, passedMs }: Passed): void {
  const times = (perDay: number): number => countOf(world, (perDay * passedMs) / DAY_MS);
  for (let left = times(PER_DAY.deploy); left > 0; left -= 1) deploy(world, catalogue, atMs);
  for (let left = times(PER_DAY.die); left > 0; left -= 1) die(world, atMs);
  if (times(PER_DAY.somebodyRemoves) > 0) removeByHand(world);
  fillDisk(world, passedMs);
  noteUse(world, atMs);
}

export interface Passed {
  readonly atMs: number;
  readonly passedMs: number;
}

/** A whole number whose mean is `expected`. */
const countOf = ({ random }: World, expected: number): number => Math.floor(expected + random());

/** So long a node has lived before the month begins. */
const LIVED_DAYS = 10;

/** A node that has lived for some days, tidied up: images of what ran before are still there. */
export function liveBefore(world: World, catalogue: Catalogue, beginMs: number): void {
  const deploys = Math.max(world.maximumPods, LIVED_DAYS * PER_DAY.deploy);
  for (let left = deploys; left > 0; left -= 1)
    deploy(world, catalogue, beginMs - Math.round((left / deploys) * LIVED_DAYS * DAY_MS));
  noteUse(world, beginMs);
  for (const { uid, isGone } of world.pods.values()) if (isGone) world.pods.delete(uid);
}

/** The newest release of an application comes; the oldest pod makes room. */
function deploy(world: World, catalogue: Catalogue, atMs: number): void {
  const application = zipfChoice(world.random, catalogue.applications);
  const { image } = hold(world, catalogue.imageAt(application, atMs), atMs + world.clockOffsetMs);
  const pod = podOf(world, application, atMs);
  pod.containers.set('app', { ...NEVER_DIED, id: nextDigest(world, 'container'), createdMs: atMs, image });
  world.pods.set(pod.uid, pod);
  const running = [...world.pods.values()].filter(({ isGone }) => !isGone);
  for (const oldest of running.slice(0, Math.max(0, running.length - world.maximumPods))) leave(oldest, atMs);
}

const NEVER_DIED = { attempt: 0, finishedMs: null } as const;

function podOf(world: World, application: FleetApplication, atMs: number): NodePod {
  const digest = nextDigest(world, 'pod');
  return {
    uid: uuidOf(digest),
    name: `${applicationName(application)}-${digest.slice(0, 9)}-${digest.slice(9, 14)}`,
    namespace: applicationNamespace(application),
    sandboxId: nextDigest(world, 'sandbox'),
    createdMs: atMs,
    containers: new Map(),
    isGone: false,
    hasSandbox: true,
    hasLogs: true,
  };
}

/** The API server deleted the pod: what it leaves behind is for the collector. */
function leave(pod: NodePod, atMs: number): void {
  pod.isGone = true;
  for (const container of pod.containers.values()) container.finishedMs ??= atMs;
}

/** A container ends, and the kubelet starts the next attempt. */
function die(world: World, atMs: number): void {
  const pod = evenChoice(
    world.random,
    [...world.pods.values()].filter(({ isGone }) => !isGone),
  );
  const last = [...(pod?.containers.values() ?? [])].at(-1);
  if (pod === undefined || last === undefined) return;
  last.finishedMs = atMs;
  const attempt = last.attempt + 1;
  const next = { attempt, id: nextDigest(world, 'container'), createdMs: atMs, image: last.image };
  pod.containers.set(`app ${attempt}`, { ...next, finishedMs: null });
}

/** Somebody clears up on the node itself: an image goes without a command. */
function removeByHand(world: World): void {
  const unused = [...world.images.values()].filter(({ image }) => !usedImages(world).has(image.id));
  const one = evenChoice(world.random, unused);
  if (one !== undefined && !one.image.reference.includes('/pause:')) drop(world, one.image.id);
}

/** Ids of the images that a container has, whatever its state. */
export function usedImages({ pods }: World): ReadonlySet<string> {
  return new Set(
    [...pods.values()].flatMap((pod) => [...pod.containers.values()].map(({ image }) => image.id)),
  );
}

function noteUse(world: World, atMs: number): void {
  for (const id of usedImages(world)) {
    const held = world.images.get(id);
    if (held !== undefined) held.lastUsedMs = atMs + world.clockOffsetMs;
  }
}

function fillDisk(world: World, passedMs: number): void {
  const share = (2 * world.random() * GROWTH_PERCENT_PER_DAY * passedMs) / DAY_MS / 100;
  const grown = world.otherBytes + BigInt(Math.round(Number(world.capacityBytes) * share));
  const most = (world.capacityBytes * MOST_OTHER_PERCENT) / 100n;
  world.otherBytes = grown < most ? grown : (world.capacityBytes * TIDY_OTHER_PERCENT) / 100n;
}
