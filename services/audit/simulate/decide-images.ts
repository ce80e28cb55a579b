import { z } from 'zod';
import type { DiskStats } from '../../../schemas/disk-stats.ts';
import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { PolicySet } from '../../../schemas/policy.ts';
import { Reclaim } from '../../../schemas/reclaim.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { sha256Hex } from '../../shared/ids.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import type { SimulationDeciders } from './newest-deciders.ts';

/** Of what deciders give, what a simulation acts on; a frozen decider may write more than is known today, or less. */
const Order = z.object({ type: z.literal('fleetgc.node.observe'), reclaim: Reclaim });
const Unrelieved = z.object({ type: z.literal('fleetgc.node.pressure-unrelieved') });
const Removal = z.object({
  type: z.literal('fleetgc.node.command'),
  kind: z.literal('image-removal'),
  items: z.array(z.object({ id: z.string(), estimatedBytes: z.int().nonnegative() })),
});

/** An image that a command would name. */
export type PlannedImage = z.infer<typeof Removal>['items'][number];

export interface ImageDecision {
  readonly items: readonly PlannedImage[];
  readonly unrelieved: boolean;
}

export interface Deciding {
  readonly deciders: SimulationDeciders;
  readonly policies: PolicySet;
}

/** The reclaim that these readings begin, at the step that removes images; `null` when there is none. */
export function reclaimFor(inventory: CompleteInventory, { deciders, policies }: Deciding): Reclaim | null {
  const order = outputs(deciders.pressure, TOPICS.diskStats.name, { event: diskStatsOf(inventory), policies })
    .map((output) => Order.safeParse(output).data)
    .find((each) => each !== undefined);
  return order?.reclaim.actions.includes('images') ? { ...order.reclaim, step: 'images' } : null;
}

export function decideImages(inventory: CompleteInventory, { deciders, policies }: Deciding): ImageDecision {
  const events = outputs(deciders.imageGc, TOPICS.inventory.name, { event: inventory, policies });
  const removals = events.flatMap((event) => Removal.safeParse(event).data ?? []);
  return {
    items: removals.flatMap(({ items }) => items),
    unrelieved: events.some((event) => Unrelieved.safeParse(event).success),
  };
}

interface Question {
  readonly event: CompleteInventory | DiskStats;
  readonly policies: PolicySet;
}

function outputs(
  { read, decide }: FrozenDecider,
  topic: string,
  { event, policies }: Question,
): readonly unknown[] {
  const text = JSON.stringify(event);
  const position = { topic, partition: 0, offset: '0', sha256: sha256Hex(text) };
  return decide(read(JSON.parse(text)), position, policies);
}

const NO_HISTORY = { availableBytes: [], inodesFree: [] };

/** Disk statistics as of an inventory. The log keeps those of the node for a day only, and they tell another past. */
const diskStatsOf = ({
  id,
  cluster,
  node,
  nodeInstance,
  takenAt,
  nodeLabels,
  filesystems,
}: CompleteInventory): DiskStats => ({
  type: 'fleetgc.node.disk-stats',
  version: 1,
  id,
  cluster,
  node,
  nodeInstance,
  takenAt,
  nodeLabels,
  filesystems,
  history: { nodefs: NO_HISTORY, imagefs: NO_HISTORY, containerfs: NO_HISTORY },
});
