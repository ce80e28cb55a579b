import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { CompleteInventory, Inventory } from '../../../../schemas/events/inventory.ts';
import { OBSERVE_LIFETIME_MS } from '../../../../schemas/events/observe.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../../schemas/events/subject-headers.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { image, incompleteInventory, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../../fixtures/time.ts';
import type { OvertakingCase } from './corpus.ts';

const OLD_MS = 24 * HOUR;
const taken = (laterMs: number, over = {}) => ({
  takenAt: instant({ sinceBootMs: OLD_MS + laterMs, ...over }),
});
const older = (over: Partial<CompleteInventory> = {}): CompleteInventory =>
  inventory({ id: 'older', images: [image('old')], ...taken(0), ...over });
const newer = (over: Partial<CompleteInventory> = {}): CompleteInventory =>
  inventory({ id: 'newer', images: [image('old')], ...taken(5 * MINUTE), ...over });
const died = { trigger: 'container-died' } as const;
const incomplete: Inventory = { ...incompleteInventory, id: 'newer', ...taken(5 * MINUTE) };
const tooLarge: Inventory = {
  ...incomplete,
  status: 'too-large',
  counts: { images: 20_001, containers: 0, sandboxes: 0, bytes: 0 },
};
const another = '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d';

const INVENTORIES: Readonly<Record<string, readonly [older: Inventory, newer: Inventory]>> = {
  'a newer one': [older(), newer()],
  'a millisecond later': [older(), newer(taken(1))],
  'at once': [older(), newer(taken(0))],
  'taken before': [older(), newer(taken(-1))],
  'another boot': [older(), newer(taken(1, { bootId: 'another' }))],
  'another installation': [older(), newer({ nodeInstance: another })],
  'another node': [older(), newer({ node: 'web-2' })],
  'another cluster': [older(), newer({ cluster: 'test' })],
  'an incomplete one before': [{ ...incomplete, id: 'older', ...taken(0) }, newer()],
  'an incomplete one after': [older(), incomplete],
  'one that is too large before': [{ ...tooLarge, id: 'older', ...taken(0) }, newer()],
  'one that is too large after': [older(), tooLarge],
  'an order before': [older({ reclaim: reclaim() }), newer()],
  'an order after': [older(), newer({ reclaim: reclaim() })],
  'one order': [older({ reclaim: reclaim() }), newer({ reclaim: reclaim() })],
  'another reclaim': [older({ reclaim: reclaim() }), newer({ reclaim: reclaim({ id: 'reclaim-2' }) })],
  'another round': [older({ reclaim: reclaim() }), newer({ reclaim: reclaim({ round: 2 }) })],
  'another step': [older({ reclaim: reclaim({ step: 'containers' }) }), newer({ reclaim: reclaim() })],
  'a death after': [older(), newer(died)],
  'a death before, within the life of commands': [older(died), newer(taken(MAX_COMMAND_LIFETIME_MS - 1))],
  'a death before, beyond the life of commands': [older(died), newer(taken(MAX_COMMAND_LIFETIME_MS))],
};

const reading = (id: string, laterMs: number, over: Partial<DiskStats> = {}): DiskStats =>
  diskStats({}, { id, ...taken(laterMs), ...over });

const READINGS: Readonly<Record<string, readonly [older: DiskStats, newer: DiskStats]>> = {
  'while an order lives': [reading('older', 0), reading('newer', OBSERVE_LIFETIME_MS)],
  'once an order would be ignored': [reading('older', 0), reading('newer', OBSERVE_LIFETIME_MS + 1)],
  'another boot': [
    reading('older', 0),
    reading('newer', 0, taken(OBSERVE_LIFETIME_MS + 1, { bootId: 'another' })),
  ],
  'another installation': [
    reading('older', 0),
    reading('newer', OBSERVE_LIFETIME_MS + 1, { nodeInstance: another }),
  ],
  'another node': [reading('older', 0), reading('newer', OBSERVE_LIFETIME_MS + 1, { node: 'web-2' })],
};

const casesOf = (
  topic: OvertakingCase['topic'],
  pairs: Readonly<Record<string, readonly [older: unknown, newer: unknown]>>,
): readonly OvertakingCase[] =>
  Object.entries(pairs).map(([name, [before, after]]) => ({
    name: `overtaking: ${topic}, ${name}`,
    topic,
    older: before,
    newer: after,
  }));

/** Both sides of every boundary of the rule of overtaking, as `make-corpus.ts` records them. */
export const OVERTAKING_CASES: readonly OvertakingCase[] = [
  ...casesOf('inventory', INVENTORIES),
  ...casesOf('diskStats', READINGS),
];
