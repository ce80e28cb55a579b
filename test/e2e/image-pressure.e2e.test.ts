import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FleetEvent } from '../../schemas/topics.ts';
import type { RuntimeImage } from '../../services/shared/cri/port.ts';
import { PAUSE_IMAGE } from '../support/containerd-node.ts';
import { runPod } from '../support/pods.ts';
import { type ArchivedFleet, archived, deleteTopics, expectVerified, explained } from './support/audit.ts';
import { endPod } from './support/end-pod.ts';
import { type Fleet, startFleet } from './support/fleet.ts';
import type { FleetNode } from './support/fleet-node.ts';
import { namesOf, pushImages } from './support/images.ts';
import { decisionsOf, imageRules, removedIds } from './support/outcomes.ts';
import { policyFor } from './support/policies.ts';

const MEBIBYTE = 1024 * 1024;
const AGE_MS = 8_000;
/** Detections are 10 s apart, so an image can be that much older than its record says. */
const OLD_ENOUGH_MS = AGE_MS + 11_000;
const RELIEVED_MS = 30_000;

let fleet: Fleet;
/** What the first test leaves to the last. */
let archivedPast: (ArchivedFleet & { readonly gone: string; readonly kept: string }) | null = null;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** Resolves when what is on the node now is older than the minimum age. */
async function age(): Promise<void> {
  const since = performance.now();
  await fleet.log.until(
    'the minimum age to pass',
    2 * OLD_ENOUGH_MS,
    () => performance.now() - since > OLD_ENOUGH_MS,
  );
}

describe.concurrent('a disk that fills', () => {
  test('is relieved down to the low threshold, least recently used images first, and nothing protected goes [C8, D8, D10, D12, M7, M9, M11]', async () => {
    const [node, images] = await Promise.all([
      fleet.startNode({ name: 'pressed', diskMebibytes: 400 }),
      pushImages(fleet.registry, 'pressed', {
        // On this disk 18 MiB take 9 %, 4 MiB take 2 %.
        'never-used-1': 18,
        'never-used-2': 18,
        'never-used-3': 18,
        'used-long-ago': 18,
        'used-lately': 18,
        'in-use': 4,
        kept: 4,
        'young-1': 18,
        'young-2': 18,
      }),
      fleet.apply(
        policyFor('pressed', {
          imageGCHighThresholdPercent: 71,
          imageGCLowThresholdPercent: 42,
          imageMinimumGCAge: `${AGE_MS}ms`,
          keep: { images: ['registry:5000/pressed/kept'] },
        }),
      ),
    ]);
    const imported = await node.importImage({
      name: 'docker.io/pressed/imported:1',
      ballastBytes: 4 * MEBIBYTE,
    });
    const { 'young-1': young1, 'young-2': young2, ...old } = images;
    for (const image of Object.values(old)) await node.pull(image);
    const run = (name: keyof typeof images) => runPod(node, { name, image: images[name].reference });
    await run('in-use');
    const longAgo = await run('used-long-ago');
    const lately = await run('used-lately');
    await node.startFleetgc();
    await endPod(node, longAgo);
    await age();
    await endPod(node, lately);

    await node.pull(young1);
    await node.pull(young2);

    await fleet.log.until(
      'usage to fall to the low threshold',
      RELIEVED_MS,
      async () => (await node.usedPercent()) <= 42,
    );
    const end = await fleet.log.waitFor(
      'results',
      'a command that reached its target',
      (event) =>
        event.type === 'fleetgc.node.command-result' &&
        event.node === 'pressed' &&
        event.result.outcome === 'done' &&
        event.result.targetReached === true,
    );
    expect(end).toMatchObject({ kind: 'image-removal', journal: 'disk', result: { failed: 0, refused: 0 } });
    expect(freedAsCounted(end)).toMatchObject({ isAbout: true });
    const removed = namesOf(images, removedIds(fleet.log, 'pressed'));
    expect(removed.toSorted()).toEqual(['never-used-1', 'never-used-2', 'never-used-3', 'used-long-ago']);
    expect(removed.at(-1)).toBe('used-long-ago');
    const left = await node.imageIds();
    expect(namesOf(images, left).toSorted()).toEqual(['in-use', 'kept', 'used-lately', 'young-1', 'young-2']);
    expect(left).toContain(imported);
    const pause = await pauseImage(node);
    expect(left).toContain(pause.id);
    expect(reasons('pressed')).toMatchObject({
      [images['in-use'].id]: 'C8',
      [images.kept.id]: 'M11',
      [imported]: 'M11',
      [images['young-1'].id]: 'D10',
      [pause.id]: 'M9',
    });

    await expectVerified(fleet);
    const { 'never-used-1': goneImage, kept } = images;
    expect(await explained(fleet, goneImage.reference)).toMatch(/Removed by FleetGC .* \(D11\)/);
    archivedPast = { ...(await archived(fleet)), gone: goneImage.reference, kept: kept.reference };
  });

  test('to the last block, state directory included, is relieved without help [D7, M10]', async () => {
    const [node, images] = await Promise.all([
      fleet.startNode({ name: 'full', diskMebibytes: 300 }),
      pushImages(fleet.registry, 'full', { a: 18, b: 18, c: 18, d: 18, e: 18 }),
      fleet.apply(
        policyFor('full', {
          imageGCHighThresholdPercent: 95,
          imageGCLowThresholdPercent: 70,
          imageMinimumGCAge: `${AGE_MS}ms`,
        }),
      ),
    ]);
    for (const image of Object.values(images)) await node.pull(image);
    await node.startFleetgc();
    await age();

    const { output } = await node.tryExec(['dd', 'if=/dev/zero', 'of=/disk/filler', 'bs=4k']);

    expect(output).toContain('No space left on device');
    await fleet.log.until(
      'usage to fall to the low threshold',
      RELIEVED_MS,
      async () => (await node.usedPercent()) <= 70,
    );
    await fleet.log.waitFor(
      'results',
      'a command that reached its target',
      (event) =>
        event.type === 'fleetgc.node.command-result' &&
        event.node === 'full' &&
        event.result.outcome === 'done' &&
        event.result.targetReached === true,
    );
    const removed = removedIds(fleet.log, 'full').length;
    expect(removed).toBeGreaterThan(0);
    expect(await node.imageIds()).toHaveLength(6 - removed);
    const pause = await pauseImage(node);
    expect(pause.pinned).toBe(true);
    expect(reasons('full')).toMatchObject({ [pause.id]: 'D7' });
  });
});

async function pauseImage(node: FleetNode): Promise<RuntimeImage> {
  const found = (await node.runtime.listImages()).find(({ repoTags }) => repoTags.includes(PAUSE_IMAGE));
  if (!found) throw new Error(`${PAUSE_IMAGE} is gone`);
  return found;
}

/** By image id, the rule of the last image-gc decision that commanded. */
function reasons(node: string): Record<string, string> {
  const decision = decisionsOf(fleet.log, 'image-gc', node).findLast(
    ({ outcome }) => outcome === 'commanded',
  );
  if (!decision) throw new Error(`image-gc commanded nothing on ${node}`);
  return imageRules(fleet.log, decision);
}

/** Whether what the disk got back is within a tenth of what the plan counted with. */
function freedAsCounted(event: FleetEvent) {
  if (event.type !== 'fleetgc.node.command-result' || event.result.outcome !== 'done') return null;
  const { measured, estimatedBytes } = event.result;
  const freedBytes = Number(measured?.afterBytes) - Number(measured?.beforeBytes);
  const isAbout = estimatedBytes !== null && Math.abs(freedBytes - estimatedBytes) < estimatedBytes / 10;
  return { freedBytes, estimatedBytes, isAbout };
}

// Nothing can follow it: it takes the log away.
test('once all topics are deleted, a removed and a kept image are explained from the archive', async () => {
  if (archivedPast === null)
    throw new Error('nothing was archived: this test goes on where the first one ended');
  const { check, explain, gone, kept } = archivedPast;
  await deleteTopics(fleet);

  expect(await check()).toMatch(/^head of the archive: [0-9a-f]{64}$/m);
  expect(await explain(gone)).toMatch(/Removed by FleetGC .* \(D11\)/);
  expect(await explain(kept)).toMatch(/kept +kept by registry:5000\/pressed\/kept/);
});
