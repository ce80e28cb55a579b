import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FleetEvent } from '../../schemas/events/topics.ts';
import { runPod } from '../support/pods.ts';
import { archived, deleteTopics, expectVerified, explained } from './support/audit.ts';
import { endPod } from './support/end-pod.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import { policyFor } from './support/fleet/policies.ts';
import { namesOf, pauseImage, pushImages } from './support/images.ts';
import { commandAtTarget, commandedRules, removedIds } from './support/outcomes.ts';
import { untilOldEnough, YOUNG_MS } from './support/young-images.ts';

const MEBIBYTE = 1024 * 1024;
const RELIEVED_MS = 30_000;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

// The only one with this fleet: in the end it takes the log away.
test('a disk that fills is relieved down to the low threshold, least recently used images first, nothing protected goes, and both are explained from the archive when the log is gone [C8, D8, D10, D12, M7, M9, M11]', async () => {
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
        imageMinimumGCAge: `${YOUNG_MS}ms`,
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
  await untilOldEnough(fleet);
  await endPod(node, lately);

  await node.pull(young1);
  await node.pull(young2);

  await fleet.log.until(
    'usage to fall to the low threshold',
    RELIEVED_MS,
    async () => (await node.usedPercent()) <= 42,
  );
  const end = await commandAtTarget(fleet.log, 'pressed');
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
  expect(commandedRules(fleet.log, 'pressed')).toMatchObject({
    [images['in-use'].id]: 'C8',
    [images.kept.id]: 'M11',
    [imported]: 'M11',
    [images['young-1'].id]: 'D10',
    [pause.id]: 'M9',
  });

  await expectVerified(fleet);
  const { 'never-used-1': goneImage, kept } = images;
  expect(await explained(fleet, goneImage.reference)).toMatch(/Removed by FleetGC .* \(D11\)/);
  const { check, explain } = await archived(fleet);
  await deleteTopics(fleet);
  expect(await check()).toMatch(/^head of the archive: [0-9a-f]{64}$/m);
  expect(await explain(goneImage.reference)).toMatch(/Removed by FleetGC .* \(D11\)/);
  expect(await explain(kept.reference)).toMatch(/kept +kept by registry:5000\/pressed\/kept/);
});

/** Whether what the disk got back is within a tenth of what the plan counted with. */
function freedAsCounted(event: FleetEvent) {
  if (event.type !== 'fleetgc.node.command-result' || event.result.outcome !== 'done') return null;
  const { measured, estimatedBytes } = event.result;
  const freedBytes = Number(measured?.afterBytes) - Number(measured?.beforeBytes);
  const isAbout = estimatedBytes !== null && Math.abs(freedBytes - estimatedBytes) < estimatedBytes / 10;
  return { freedBytes, estimatedBytes, isAbout };
}
