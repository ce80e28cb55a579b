import { describe, expect, test } from 'vitest';
import { type NewerEvent, overtakes } from '../../../packages/decision/overtaking.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { OBSERVE_LIFETIME_MS } from '../../../schemas/events/observe.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/events/subject-headers.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';

const OLD_MS = 24 * HOUR;
const taken = (sinceBootMs: number, over = {}) => ({ takenAt: instant({ sinceBootMs, ...over }) });
const older = (over: Partial<CompleteInventory> = {}) =>
  inventory({ id: 'older', ...taken(OLD_MS), ...over });
const newer = (over: Partial<CompleteInventory> = {}): NewerEvent =>
  inventory({ id: 'newer', ...taken(OLD_MS + 5 * MINUTE), ...over });
const died = { trigger: 'container-died' } as const;
const tooLarge: Inventory = {
  ...incompleteInventory,
  status: 'too-large',
  counts: { images: 20_001, containers: 0, sandboxes: 0, bytes: 0 },
};

describe('an inventory is overtaken', () => {
  test.each<{ name: string; older?: Inventory; newer?: NewerEvent }>([
    { name: 'by a newer one of its node' },
    { name: 'by one that was taken a millisecond later', newer: newer(taken(OLD_MS + 1)) },
    { name: 'although it is not complete', older: { ...incompleteInventory, ...taken(OLD_MS) } },
    { name: 'although it was too large', older: { ...tooLarge, ...taken(OLD_MS) } },
    {
      name: 'by another answer to the same order',
      older: older({ reclaim: reclaim() }),
      newer: newer({ reclaim: reclaim() }),
    },
    { name: 'by one that tells of a death', newer: newer(died) },
    {
      name: 'although it tells of a death, by one beyond the life of every command [G23]',
      older: older(died),
      newer: newer(taken(OLD_MS + MAX_COMMAND_LIFETIME_MS)),
    },
    { name: 'whatever the wall clock says', newer: newer(taken(OLD_MS + 1, { wallTimeMs: 0 })) },
    { name: 'by one under other labels', newer: newer({ nodeLabels: { pool: 'other' } }) },
  ])('$name', ({ older: before = older(), newer: after = newer() }) => {
    expect(overtakes(after, before)).toBe(true);
  });
});

describe('an inventory is decided on', () => {
  test.each<{ name: string; older?: Inventory; newer?: NewerEvent }>([
    { name: 'when the newer one is not complete', newer: { ...incompleteInventory, ...taken(OLD_MS + 1) } },
    { name: 'when the newer one is too large', newer: { ...tooLarge, ...taken(OLD_MS + 1) } },
    {
      name: 'when the newer one is of another installation',
      newer: newer({ nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d' }),
    },
    { name: 'when the newer one is of another node', newer: newer({ node: 'web-2' }) },
    { name: 'when the newer one is of another cluster', newer: newer({ cluster: 'test' }) },
    { name: 'when the node was booted in between', newer: newer(taken(OLD_MS + 1, { bootId: 'another' })) },
    { name: 'when both were taken at once', newer: newer(taken(OLD_MS)) },
    { name: 'when what lies later was taken before', newer: newer(taken(OLD_MS - 1)) },
    { name: 'when it answers an order, and the newer one none', older: older({ reclaim: reclaim() }) },
    { name: 'when the newer one alone answers an order', newer: newer({ reclaim: reclaim() }) },
    {
      name: 'when they are of different reclaims',
      older: older({ reclaim: reclaim() }),
      newer: newer({ reclaim: reclaim({ id: 'reclaim-2' }) }),
    },
    {
      name: 'when they are of different rounds',
      older: older({ reclaim: reclaim() }),
      newer: newer({ reclaim: reclaim({ round: 2 }) }),
    },
    {
      name: 'when they are of different steps',
      older: older({ reclaim: reclaim({ step: 'containers' }) }),
      newer: newer({ reclaim: reclaim() }),
    },
    {
      name: 'when it tells of a death that a command may still follow [G23]',
      older: older(died),
      newer: newer(taken(OLD_MS + MAX_COMMAND_LIFETIME_MS - 1)),
    },
  ])('$name', ({ older: before = older(), newer: after = newer() }) => {
    expect(overtakes(after, before)).toBe(false);
  });
});

describe('disk statistics', () => {
  const reading = (laterMs: number, over = {}) => diskStats({}, { ...taken(OLD_MS + laterMs), ...over });
  const late = OBSERVE_LIFETIME_MS + 1;

  test.each<{ name: string; newer: NewerEvent; isOvertaken: boolean }>([
    {
      name: 'are overtaken once an order that they gave would be ignored',
      newer: reading(late),
      isOvertaken: true,
    },
    { name: 'are decided on while it would not', newer: reading(OBSERVE_LIFETIME_MS), isOvertaken: false },
    {
      name: 'are decided on when the node was booted since',
      newer: reading(0, taken(OLD_MS + late, { bootId: 'another' })),
      isOvertaken: false,
    },
    {
      name: 'are decided on when the newer ones are of another node',
      newer: reading(late, { node: 'web-2' }),
      isOvertaken: false,
    },
    { name: 'are not overtaken by an inventory', newer: newer(taken(OLD_MS + late)), isOvertaken: false },
  ])('$name', ({ newer: after, isOvertaken }) => {
    expect(overtakes(after, reading(0))).toBe(isOvertaken);
  });

  test('overtake no inventory', () => {
    expect(overtakes(reading(HOUR), older())).toBe(false);
  });
});
