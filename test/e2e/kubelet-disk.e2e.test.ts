import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyDisk, fillDisk } from '../support/nodes/disk-filler.ts';
import { followImageDeletions } from '../support/nodes/image-deletions.ts';
import type { PushedImage } from '../support/nodes/registry.ts';
import type { WantedPod } from '../support/nodes/wanted-pod.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import { policyFor } from './support/fleet/policies.ts';
import { namesOf, pushImages } from './support/images.ts';
import type { FleetKubeletNode } from './support/kubelet/fleet-kubelet-node.ts';
import { removalErrors } from './support/kubelet/kubelet-errors.ts';
import { containersOf, endStaticPod, runPods } from './support/kubelet/static-pods.ts';
import { decisionsOf, imageRules, objectResults, removedIds } from './support/outcomes.ts';

const MEBIBYTE = 1024 * 1024;
const DISK_MEBIBYTES = 300;
/** Unpacked and packed each takes 13 % of that disk. */
const UNUSED = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`unused-${index}`, 18]));
/**
 * The kubelet collects images every five minutes, and at once when it sees pressure. It keeps one dead container more
 * than the policy: with equal limits both would go for the same containers at each crash.
 */
const RIVAL = {
  deadContainersPerContainer: 2,
  minimumContainerTtl: '0s',
  configuration: {
    imageGCHighThresholdPercent: 75,
    imageGCLowThresholdPercent: 70,
    imageMinimumGCAge: '1s',
    evictionHard: { 'nodefs.available': '25%', 'imagefs.available': '25%' },
    evictionPressureTransitionPeriod: '1s',
  },
};
/** Images that pods leave: 4 % of that disk each, so that all of them are below the high threshold. */
const LEFT = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`left-${index}`, 6]));
const BOUND_MS = 60_000;
/** Where every image was too young, a disk that does not change is told, and relieved, a minute later. */
const RELIEVED_MS = 120_000;
const CLEARED_MS = 120_000;
/** Detections come every 10 s. */
const DETECTION_MS = 11_000;
const MINIMUM_AGE_MS = 40_000;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const podOf = (name: string, image: string): WantedPod => ({ name, containers: [{ name: 'main', image }] });

/** Resolves when so much time has passed since an instant. */
const passed = (what: string, sinceMs: number, durationMs: number): Promise<boolean> =>
  fleet.log.until(what, 2 * durationMs, () => performance.now() - sinceMs > durationMs);

/** By image id, the rule of the last image-gc decision about the step `images` of a reclaim. */
function reasons(node: string): Record<string, string> {
  const decision = decisionsOf(fleet.log, 'image-gc', node).findLast(
    ({ reclaim }) => reclaim?.step === 'images',
  );
  if (!decision) throw new Error(`image-gc decided nothing for the disk of ${node}`);
  return imageRules(fleet.log, decision);
}

/** Pulls faster than the disk is relieved, while a pod goes on crashing. */
async function pullThroughPressure(
  node: FleetKubeletNode,
  images: readonly PushedImage[],
  crashing: WantedPod,
): Promise<void> {
  for (const image of images) {
    await fleet.log.until('room for another image', RELIEVED_MS, async () => {
      await node.kubelet.nudge(crashing);
      return (await node.usedPercent()) < 80;
    });
    await node.pull(image);
  }
}

describe.concurrent('a full disk beside a real kubelet', () => {
  test('on which the agent restarts: nothing young or imported goes, the rest in the order of its last use [C13, D8, D10, M1, M2, M11]', async () => {
    const name = 'kubelet-restart';
    const [node, images] = await Promise.all([
      fleet.startKubeletNode({ name, diskMebibytes: DISK_MEBIBYTES }),
      pushImages(fleet.registry, name, {
        'never-used': 12,
        'used-long-ago': 12,
        'used-lately': 12,
        'in-use': 4,
        'young-known': 4,
        'young-new': 40,
      }),
      fleet.apply(
        policyFor(name, {
          imageGCHighThresholdPercent: 70,
          imageGCLowThresholdPercent: 10,
          imageMinimumGCAge: `${MINIMUM_AGE_MS}ms`,
        }),
      ),
    ]);
    const imported = await node.importImage({
      name: 'docker.io/air-gapped/tool:1',
      ballastBytes: 4 * MEBIBYTE,
    });
    await node.pull(images['never-used']);
    const pods = (['in-use', 'used-long-ago', 'used-lately'] as const).map((image) =>
      podOf(image, images[image].reference),
    );
    await runPods(node, pods);
    await node.startFleetgc();
    const since = performance.now();
    await endStaticPod(node, 'used-long-ago');
    await passed('a detection', performance.now(), DETECTION_MS);
    await endStaticPod(node, 'used-lately');
    await passed('the old images to be old', since, MINIMUM_AGE_MS - DETECTION_MS);
    await node.pull(images['young-known']);
    const youngSince = performance.now();
    await passed('the young image to be detected', since, MINIMUM_AGE_MS);

    await node.stopFleetgc();
    await node.pull(images['young-new']);
    expect(await node.usedPercent()).toBeGreaterThanOrEqual(70);
    await node.startFleetgc();

    await fleet.log.waitFor(
      'decisions',
      'the reclaim to end above its target',
      (event) => event.type === 'fleetgc.node.pressure-unrelieved' && event.node === name,
    );
    const left = await node.imageIds();
    const wasYoung = performance.now() - youngSince < MINIMUM_AGE_MS;
    // On a machine at work the restart may last until it is old.
    const ofThose = (names: readonly string[]): readonly string[] =>
      names.filter((one) => wasYoung || one !== 'young-known');
    expect(ofThose(namesOf(images, removedIds(fleet.log, name)))).toEqual([
      'never-used',
      'used-long-ago',
      'used-lately',
    ]);
    expect(ofThose(namesOf(images, left).toSorted())).toEqual(
      ofThose(['in-use', 'young-known', 'young-new']),
    );
    expect(left).toContain(imported);
    expect(reasons(name)).toMatchObject({
      [images['in-use'].id]: 'C8',
      ...(wasYoung && { [images['young-known'].id]: 'D10' }),
      [images['young-new'].id]: 'D10',
      [imported]: 'M11',
    });
  });

  test('with both collectors on: no error on either side, nothing removed twice, nothing that the kubelet needs [K1, M31]', async () => {
    const name = 'kubelet-rival';
    const [node, unused, used] = await Promise.all([
      fleet.startKubeletNode({ name, diskMebibytes: DISK_MEBIBYTES, kubelet: RIVAL }),
      pushImages(fleet.registry, name, UNUSED),
      pushImages(fleet.registry, name, { steady: 4, crashing: 4 }),
      fleet.apply(
        policyFor(name, {
          imageGCHighThresholdPercent: 60,
          imageGCLowThresholdPercent: 40,
          imageMinimumGCAge: '1s',
        }),
      ),
    ]);
    await using deletions = await followImageDeletions(node);
    const steady = podOf('steady', used.steady.reference);
    const crashing: WantedPod = {
      name: 'crashing',
      containers: [{ name: 'main', image: used.crashing.reference, does: { failures: 1000 } }],
    };
    await runPods(node, [steady]);
    await node.kubelet.put(crashing);
    await node.startFleetgc();
    const before = await containersOf(node, steady);
    const said = node.kubelet.output().length;

    await pullThroughPressure(node, Object.values(unused), crashing);
    await fleet.log.until('usage to fall below both thresholds', RELIEVED_MS, async () => {
      return (await node.usedPercent()) < 60;
    });

    const failed = objectResults(fleet.log, name).filter(({ result }) => result.outcome === 'failed');
    expect(failed).toEqual([]);
    const ours = new Set(removedIds(fleet.log, name));
    expect(removalErrors(node.kubelet.output().slice(said), ours)).toEqual([]);
    const tags = deletions.tags();
    expect(tags.length).toBeGreaterThan(0);
    expect(tags).toHaveLength(new Set(tags).size);
    const removed = removedIds(fleet.log, name);
    expect(removed).toHaveLength(new Set(removed).size);
    expect(await containersOf(node, steady)).toEqual(before);
    expect(namesOf(used, await node.imageIds()).toSorted()).toEqual(['crashing', 'steady']);
    await fleet.log.until('the log of the last failure', BOUND_MS, async () =>
      /^failure \d+\n$/.test(await node.kubelet.previousLog('crashing', 'main')),
    );
    const told = await node.kubelet.pods();
    expect(told.map(({ status }) => status.phase)).toEqual(['Running', 'Running']);
  });

  test('into which a big file is written: what pods left goes, the kubelet stays healthy, and pressure ends with the file [O3, J9, M8]', async () => {
    const name = 'kubelet-filled';
    const [node, left, { steady }] = await Promise.all([
      fleet.startKubeletNode({ name, diskMebibytes: DISK_MEBIBYTES }),
      pushImages(fleet.registry, name, LEFT),
      pushImages(fleet.registry, name, { steady: 4 }),
      fleet.apply(
        policyFor(name, {
          imageGCHighThresholdPercent: 50,
          imageGCLowThresholdPercent: 40,
          imageMinimumGCAge: '1s',
          evictionHard: { 'imagefs.available': '15%' },
          evictionMinimumReclaim: { 'imagefs.available': '10%' },
        }),
      ),
    ]);
    await using health = await node.kubelet.followHealth();
    const staying = podOf('steady', steady.reference);
    const leaving = Object.entries(left).map(([of, image]) => podOf(of, image.reference));
    await runPods(node, [staying, ...leaving]);
    await node.startFleetgc();
    await Promise.all(leaving.map((pod) => endStaticPod(node, pod.name)));
    expect(await node.usedPercent()).toBeLessThan(50);
    const before = await containersOf(node, staying);
    const images = await node.imageIds();

    await fillDisk(node, 90);
    const pressure = await fleet.log.waitFor(
      'decisions',
      'pressure to be told',
      (event) => event.type === 'fleetgc.node.decision' && event.node === name && event.outcome === 'ordered',
    );
    const unrelieved = await fleet.log.waitFor(
      'decisions',
      'the file to be told as what holds the space',
      (event) => event.type === 'fleetgc.node.pressure-unrelieved' && event.node === name,
      BOUND_MS,
    );
    await emptyDisk(node);
    await fleet.log.until('pressure to end', CLEARED_MS, () => {
      const last = decisionsOf(fleet.log, 'pressure', name).at(-1);
      return last?.outcome === 'nothing-to-do';
    });

    expect(pressure).toMatchObject({ reclaim: { cause: { signal: 'imagefs.available', threshold: '15%' } } });
    expect(unrelieved).toMatchObject({
      holders: expect.arrayContaining([expect.objectContaining({ reason: 'not-images' })]),
    });
    expect(namesOf(left, removedIds(fleet.log, name)).toSorted()).toEqual(Object.keys(left).toSorted());
    expect(await node.imageIds()).toHaveLength(images.length - leaving.length);
    expect(await containersOf(node, staying)).toEqual(before);
    await runPods(node, leaving.slice(0, 1));
    expect(health.answers()).toEqual(['ok']);
  });
});
