import type { ContainerRemoval } from '../../../schemas/events/command.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { nodeOutput } from '../../decision/handler.ts';
import {
  commandHeader,
  type Deciding,
  type FollowUp,
  observeOrder,
  pressureUnrelieved,
} from '../../decision/record.ts';
import { removalHandler } from '../../decision/removal-handler.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { type ContainerConclusion, DECIDER, decide } from './decide.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'node'> = {
  name: 'container-gc',
  subject: 'node',
  group: 'fleetgc-container-gc',
  handlers: (policies) => ({ inventory: containerGcHandler(policies) }),
  decider: DECIDER,
};

/**
 * After the record comes the command to remove containers, sandboxes and logs, or the order to go on to a reclaim's next
 * action, or the fact that a reclaim missed its target.
 */
function followUpOf(
  deciding: Deciding<'node', Inventory>,
  record: PolicyRecord,
  conclusion: ContainerConclusion,
): FollowUp | null {
  const { outcome, goesOnAt, reclaim, unrelievedAt } = conclusion;
  if (outcome === 'commanded') return nodeOutput('commands', containerRemoval(deciding, record, conclusion));
  if (goesOnAt !== null) return nodeOutput('observe', observeOrder(deciding, goesOnAt));
  if (reclaim === null || unrelievedAt === null) return null;
  const ending = { reclaim, availableNow: unrelievedAt, holders: [] };
  return nodeOutput('decisions', pressureUnrelieved(deciding, ending));
}

const containerRemoval = (
  deciding: Deciding<'node', Inventory>,
  record: PolicyRecord,
  { items, reclaim }: ContainerConclusion,
): ContainerRemoval => ({
  ...commandHeader(deciding, record),
  reclaim,
  kind: 'container-removal',
  items: [...items],
});

/** Decides on each inventory. */
export const containerGcHandler = removalHandler({
  decider: DECIDER,
  removal: 'container-removal',
  decide,
  followUpOf,
});
