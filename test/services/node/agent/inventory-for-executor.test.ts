import { expect, test } from 'vitest';
import type { Instant } from '../../../../schemas/events/time.ts';
import { NO_CONTENTS } from '../../../../services/node/agent/contents.ts';
import { agentEvents } from '../../../../services/node/agent/event.ts';
import { ownInventory } from '../../../../services/node/agent/for-executor.ts';
import { type ContentsOfScan, contentsOfScans, type NodeScan } from '../../../../services/node/agent/scan.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { completeScan } from '../../../fixtures/node-scan.ts';
import { instant, SECOND } from '../../../fixtures/time.ts';
import { BOOT_B, manualClock } from '../../../support/manual-clock.ts';

/** Takes an inventory a while after `last`, and tells whether it rests on that scan. */
async function restsOn(last: NodeScan | null, afterMs: number, actions: readonly Instant[] = []) {
  const clock = manualClock({ sinceBootMs: instant().sinceBootMs + afterMs });
  const take = ownInventory({
    scan: async () => completeScan({ takenAt: clock.now() }),
    lastScan: () => last,
    events: agentEvents({ identity: NODE, nodeLabels: {}, startedAt: clock.now() }),
    backoff: () => [],
    contentsOf: async () => NO_CONTENTS,
    clock,
  });
  const { takenAt } = await take(null, actions);
  return takenAt === last?.takenAt;
}

const LAST = completeScan({ takenAt: instant() });
const actionAt = (ms: number, bootId = instant().bootId): Instant =>
  instant({ sinceBootMs: instant().sinceBootMs + ms, bootId });

test('a scan of this process serves for a second, so that a command need not wait for another', async () => {
  expect(await restsOn(LAST, 0)).toBe(true);
  expect(await restsOn(LAST, SECOND)).toBe(true);
  expect(await restsOn(LAST, SECOND + 1)).toBe(false);
});

test('without a scan, with one that is incomplete or of another boot, the node is looked at', async () => {
  const { takenAt, readings } = LAST;
  expect(await restsOn(null, 0)).toBe(false);
  expect(await restsOn({ status: 'incomplete', problems: [], takenAt, readings }, 0)).toBe(false);
  expect(await restsOn(completeScan({ takenAt: actionAt(0, BOOT_B) }), 0)).toBe(false);
});

test('what was done in its moment or later makes it useless; what was done before does not', async () => {
  expect(await restsOn(LAST, 10, [actionAt(-1)])).toBe(true);
  expect(await restsOn(LAST, 10, [actionAt(-1), actionAt(0)])).toBe(false);
  expect(await restsOn(LAST, 10, [actionAt(5)])).toBe(false);
  expect(await restsOn(LAST, 10, [actionAt(5, BOOT_B)])).toBe(true);
});

test('containerd is asked once for each scan, and not at all for an incomplete one', async () => {
  let asked = 0;
  const contentsOf: ContentsOfScan = contentsOfScans(async () => {
    asked += 1;
    return NO_CONTENTS;
  });
  const { takenAt, readings } = LAST;
  await contentsOf({ status: 'incomplete', problems: [], takenAt, readings });
  expect(asked).toBe(0);
  await Promise.all([contentsOf(LAST), contentsOf(LAST)]);
  expect(asked).toBe(1);
  await contentsOf(completeScan({ takenAt: instant() }));
  expect(asked).toBe(2);
});
