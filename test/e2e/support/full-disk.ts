import { expect, test } from 'vitest';
import { fillDisk } from '../../support/nodes/disk-filler.ts';
import type { Fleet } from './fleet/fleet.ts';
import { policyFor } from './fleet/policies.ts';
import { pauseImage, pushImages } from './images.ts';
import { commandAtTarget, commandedRules, removedIds } from './outcomes.ts';
import { untilOldEnough, YOUNG_MS } from './young-images.ts';

const RELIEVED_MS = 30_000;

/** A disk is filled until nobody can write. */
export function fullDisk(fleetOf: () => Fleet): void {
  test('a disk that is full to the last block, state directory included, is relieved without help [D7, M10]', async () => {
    const fleet = fleetOf();
    const [node, images] = await Promise.all([
      fleet.startNode({ name: 'full', diskMebibytes: 300 }),
      pushImages(fleet.registry, 'full', { a: 18, b: 18, c: 18, d: 18, e: 18 }),
      fleet.apply(
        policyFor('full', {
          imageGCHighThresholdPercent: 95,
          imageGCLowThresholdPercent: 70,
          imageMinimumGCAge: `${YOUNG_MS}ms`,
          evictionHard: {},
        }),
      ),
    ]);
    for (const image of Object.values(images)) await node.pull(image);
    await node.startFleetgc();
    await untilOldEnough(fleet);

    // Nearly full at one stroke, so that no sample sees it on the way to the last block.
    await fillDisk(node, 94);
    const { output } = await node.tryExec(['dd', 'if=/dev/zero', 'of=/disk/last', 'bs=4k']);

    expect(output).toContain('No space left on device');
    await fleet.log.until(
      'usage to fall to the low threshold',
      RELIEVED_MS,
      async () => (await node.usedPercent()) <= 70,
    );
    await commandAtTarget(fleet.log, 'full');
    const removed = removedIds(fleet.log, 'full').length;
    expect(removed).toBeGreaterThan(0);
    expect(await node.imageIds()).toHaveLength(6 - removed);
    const pause = await pauseImage(node);
    expect(pause.pinned).toBe(true);
    expect(commandedRules(fleet.log, 'full')).toMatchObject({ [pause.id]: 'D7' });
  });
}
