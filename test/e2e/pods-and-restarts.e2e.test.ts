import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { type Pod, runPod } from '../support/pods.ts';
import { deadPods } from './support/dead-pods.ts';
import { stopPod } from './support/end-pod.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { policyFor } from './support/fleet/policies.ts';
import { fullDisk } from './support/full-disk.ts';
import { namesOf, pushImages } from './support/images.ts';
import { decisionsOf, inventoryOf, objectResults, removedIds } from './support/outcomes.ts';

/** The history is read to 10 ms, and a reboot is told by the wall clock. */
const CLOCK_NOISE_MS = 1_000;
const MINIMUM_AGE_MS = 75_000;
/** Longer than two restarts and a reboot take, so that an image so much younger is too young after them as it was before. */
const YOUNGER_MS = 60_000;
const DECIDED_MS = 60_000;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** The last complete inventory of a node. */
function inventory(node: string): CompleteInventory {
  const found = fleet.log
    .events('inventory')
    .findLast((event): event is CompleteInventory => event.node === node && event.status === 'complete');
  if (!found) throw new Error(`no inventory of ${node}`);
  return found;
}

/** Everything that the runtime holds. */
async function held({ runtime }: FleetNode) {
  const lists = await Promise.all([runtime.listImages(), runtime.listContainers(), runtime.listSandboxes()]);
  return lists.map((list) => list.map(({ id }) => id).toSorted());
}

/** Both deciders answered the last inventory of the node. */
async function decidedOn(node: string): Promise<void> {
  const { id } = inventory(node);
  await fleet.log.until(`both deciders to answer the last inventory of ${node}`, 30_000, () =>
    (['container-gc', 'image-gc'] as const).every((decider) =>
      decisionsOf(fleet.log, decider, node).some(({ input }) => input.id === id),
    ),
  );
}

const historyOf = (node: string) =>
  new Map(
    inventory(node).images.map(({ id, firstDetectedMs, lastUsedMs }) => [
      id,
      { firstDetectedMs, lastUsedMs },
    ]),
  );

/** Waits until the agent knows an image for longer than that. */
async function isOlderThan(node: string, imageId: string, ageMs: number): Promise<void> {
  const firstDetectedMs = historyOf(node).get(imageId)?.firstDetectedMs;
  if (firstDetectedMs === undefined) throw new Error(`the agent of ${node} does not know ${imageId}`);
  await fleet.log.until(
    `${imageId} to be known for ${ageMs} ms`,
    ageMs + DECIDED_MS,
    () => Date.now() - firstDetectedMs > ageMs + CLOCK_NOISE_MS,
  );
}

/**
 * What image-gc said of the pressure that the agent of now found: nobody knows what pods want, so nothing may go; and only
 * one image is too young besides, so the ages survived.
 */
async function nothingBelieved(node: string, youngId: string): Promise<void> {
  const { agentStartedAt } = inventory(node);
  const decision = await fleet.log.until(`image-gc to answer the pressure on ${node}`, DECIDED_MS, () => {
    const isOfNow = ({ outcome, reclaim, takenAt: { bootId, sinceBootMs } }: Decision): boolean =>
      outcome === 'not-believed' &&
      reclaim?.step === 'images' &&
      bootId === agentStartedAt.bootId &&
      sinceBootMs >= agentStartedAt.sinceBootMs;
    return decisionsOf(fleet.log, 'image-gc', node).find(isOfNow) ?? null;
  });
  expect(decision.reason).toContain('it is not known which images pods want');
  const { images, takenAt } = inventoryOf(fleet.log, decision);
  const tooYoung = decision.verdicts.filter(({ rule }) => rule === 'D10');
  const ageMs = takenAt.wallTimeMs - (historyOf(node).get(youngId)?.firstDetectedMs ?? Number.NaN);
  // A machine at work may need so long for the restarts that it is young no more.
  const expected = ageMs < MINIMUM_AGE_MS ? [youngId] : [];
  expect(tooYoung.map(({ position }) => images[position]?.id)).toEqual(expected);
}

/** Two of them wait for minutes, so all share a fleet. */
describe.concurrent('over minutes', () => {
  deadPods(() => fleet);
  fullDisk(() => fleet);

  test('after a restart of the agent, and of the node, nothing goes that was not removable before [C10, K1, M1, M2]', async () => {
    const [node, images] = await Promise.all([
      fleet.startNode({ name: 'rebooted', kubelet: true, diskMebibytes: 200 }),
      pushImages(fleet.registry, 'rebooted', { used: 9, old: 9, young: 9 }),
      fleet.apply(
        policyFor('rebooted', {
          imageGCHighThresholdPercent: 50,
          imageGCLowThresholdPercent: 10,
          imageMinimumGCAge: `${MINIMUM_AGE_MS / 1000}s`,
        }),
      ),
    ]);
    await Promise.all([images.used, images.old].map((image) => node.pull(image)));
    const [live, stopped] = await Promise.all([
      runPod(node, { name: 'live', image: images.used.reference }),
      runPod(node, { name: 'stopped', image: images.used.reference }),
    ]);
    await stopPod(node, stopped);
    const known = [live, stopped].map((pod: Pod) => ({ pod, image: images.used.reference }));
    await node.kubelet?.tell(known);
    await node.startFleetgc();
    await isOlderThan('rebooted', images.old.id, YOUNGER_MS);
    await node.pull(images.young);
    const pulledAtMs = Date.now();
    await fleet.log.until('the young image to be seen', DECIDED_MS, () =>
      inventory('rebooted').images.some(({ id }) => id === images.young.id),
    );
    await isOlderThan('rebooted', images.old.id, MINIMUM_AGE_MS);
    await decidedOn('rebooted');
    const before = historyOf('rebooted');
    const heldBefore = await held(node);

    // The agent restarts while nobody tells of pods and the disk is full.
    expect(await node.stopFleetgc()).toBe(0);
    await node.kubelet?.stop();
    await node.exec(['dd', 'if=/dev/zero', 'of=/disk/filler', 'bs=1M', 'count=60']);
    await node.startFleetgc();
    await decidedOn('rebooted');
    expect(inventory('rebooted').pods.map(({ state }) => state)).toEqual(['unknown', 'unknown']);
    await nothingBelieved('rebooted', images.young.id);
    expect(await held(node)).toEqual(heldBefore);
    expectSame(historyOf('rebooted'), before);

    // The node restarts: another boot, all containers dead, and a kubelet that has not heard of any pod yet.
    const { bootId } = inventory('rebooted').takenAt;
    await node.stopFleetgc();
    await node.reboot();
    await node.kubelet?.tellNothing();
    await node.kubelet?.start();
    await node.startFleetgc();
    await decidedOn('rebooted');
    const after = inventory('rebooted');
    expect(after.takenAt.bootId).not.toBe(bootId);
    expect(after.containers.map(({ state }) => state)).not.toContain('running');
    expect(after.pods.map(({ state }) => state)).toEqual(['unknown', 'unknown']);
    expect(after.allSourcesReady).toBe(false);
    await nothingBelieved('rebooted', images.young.id);
    expect(await held(node)).toEqual(heldBefore);
    expectSame(historyOf('rebooted'), before);
    expect(objectResults(fleet.log, 'rebooted')).toEqual([]);

    // The kubelet knows its pods again, and the disk is still full: what could go all the time goes now, and nothing else.
    await node.kubelet?.tell(known);
    // A disk whose usage stays is looked at once a minute; one that fills further, at once.
    await node.exec(['dd', 'if=/dev/zero', 'of=/disk/filler-2', 'bs=1M', 'count=10']);
    await fleet.log.until('the old image to go', DECIDED_MS, () =>
      removedIds(fleet.log, 'rebooted').includes(images.old.id),
    );
    const left = namesOf(images, await node.imageIds()).toSorted();
    const gone = objectResults(fleet.log, 'rebooted').map(({ object }) => object.id);
    const wasYoung = Date.now() - pulledAtMs < MINIMUM_AGE_MS;
    const mayGo = wasYoung ? [] : [images.young.id];
    expect(gone.filter((id) => !mayGo.includes(id))).toEqual([images.old.id]);
    expect(left.filter((name) => wasYoung || name !== 'young')).toEqual(
      wasYoung ? ['used', 'young'] : ['used'],
    );
  });
});

type HistoryOfImages = ReturnType<typeof historyOf>;

/** First seen as before; last used as before or, where a container still holds the image, later. */
function expectSame(after: HistoryOfImages, before: HistoryOfImages): void {
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  for (const [id, { firstDetectedMs, lastUsedMs }] of before) {
    const now = after.get(id);
    expect(Math.abs((now?.firstDetectedMs ?? 0) - firstDetectedMs), id).toBeLessThan(CLOCK_NOISE_MS);
    if (lastUsedMs === null) expect(now?.lastUsedMs, id).toBeNull();
    else expect(now?.lastUsedMs ?? 0, id).toBeGreaterThan(lastUsedMs - CLOCK_NOISE_MS);
  }
}
