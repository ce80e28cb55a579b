import type { ImageRemoval } from '../../../schemas/events/command.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { nodeOutput } from '../../decision/handler.ts';
import { commandHeader, type Deciding, type FollowUp, pressureUnrelieved } from '../../decision/record.ts';
import { removalHandler } from '../../decision/removal-handler.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER, decide, type ImageConclusion } from './decide.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'node'> = {
  name: 'image-gc',
  subject: 'node',
  group: 'fleetgc-image-gc',
  handlers: (policies) => ({ inventory: imageGcHandler(policies) }),
  decider: DECIDER,
};

/** After the record comes the command to remove images, or the fact that a reclaim missed its target. */
function followUpOf(
  deciding: Deciding<'node', Inventory>,
  record: PolicyRecord,
  conclusion: ImageConclusion,
): FollowUp | null {
  const { outcome, reclaim, unrelievedAt, holders } = conclusion;
  if (outcome === 'commanded') return nodeOutput('commands', imageRemoval(deciding, record, conclusion));
  if (reclaim === null || unrelievedAt === null) return null;
  const ending = { reclaim, availableNow: unrelievedAt, holders: [...holders] };
  return nodeOutput('decisions', pressureUnrelieved(deciding, ending));
}

const imageRemoval = (
  deciding: Deciding<'node', Inventory>,
  record: PolicyRecord,
  { items, holders, reclaim }: ImageConclusion,
): ImageRemoval => ({
  ...commandHeader(deciding, record),
  kind: 'image-removal',
  reclaim,
  holders: [...holders],
  items: [...items],
});

/** Decides on each inventory. */
export const imageGcHandler = removalHandler({
  decider: DECIDER,
  removal: 'image-removal',
  decide,
  followUpOf,
});
