import type { SimulatedNode, SimulatedSums } from '../../../schemas/audit-simulation.ts';
import type { CompleteInventory } from '../../../schemas/inventory.ts';
import { POOL_LABEL, type PolicySet, selectPolicy } from '../../../schemas/policy.ts';
import type { EventOf } from '../../../schemas/topics.ts';
import type { SimulationDeciders } from './newest-deciders.ts';
import { createRecordedSide } from './recorded-side.ts';
import type { Side, SideSums } from './side.ts';
import { createSimulatedSide } from './simulated-side.ts';

/** What is compared: policies, and what happened or other policies. */
export interface Comparison {
  readonly policy: PolicySet;
  /** `null`: what happened. */
  readonly against: PolicySet | null;
  readonly regretWindowMs: number;
  readonly deciders: SimulationDeciders;
}

/** What came of one node. */
export interface ComparedNode {
  readonly node: SimulatedNode;
  readonly sides: { readonly policy: SideSums; readonly against: SideSums };
}

/** Runs one installation of a node both ways, in the order of the log. */
export function createSimulatedNode({ policy, against, regretWindowMs, deciders }: Comparison) {
  const simulated = (policies: PolicySet): Side =>
    createSimulatedSide({ deciders, policies }, regretWindowMs);
  const sides = {
    policy: simulated(policy),
    against: against === null ? createRecordedSide(regretWindowMs) : simulated(against),
  };
  const both = [sides.policy, sides.against];
  let last: CompleteInventory | null = null;
  let inventories = 0;

  return {
    look: (inventory: CompleteInventory, atMs: number): void => {
      last = inventory;
      inventories++;
      for (const side of both) side.look(inventory, atMs, thresholdFor(policy, inventory));
    },
    result: (event: EventOf<'results'>, atMs: number): void => {
      if (event.type === 'fleetgc.node.pressure-unrelieved') for (const side of both) side.unrelieved(event);
      if (event.type !== 'fleetgc.node.object-result' || event.result.outcome !== 'removed') return;
      for (const side of both) side.wentAway(event, event.result.measured, atMs);
    },
    /** `null` where no complete inventory came. */
    compared: (): ComparedNode | null => {
      if (last === null) return null;
      const sums = { policy: sides.policy.sums(), against: sides.against.sums() };
      return { node: { ...describe(last, { policy, against }), inventories, ...told(sums) }, sides: sums };
    },
  };
}

function describe(inventory: CompleteInventory, { policy, against }: Pick<Comparison, 'policy' | 'against'>) {
  const { cluster, node, nodeLabels } = inventory;
  return {
    cluster,
    node,
    pool: nodeLabels[POOL_LABEL] ?? null,
    policies: {
      policy: policyFor(policy, inventory)?.name ?? null,
      against: against === null ? null : (policyFor(against, inventory)?.name ?? null),
    },
    thresholdPercent: thresholdFor(policy, inventory),
  };
}

const told = ({ policy, against }: ComparedNode['sides']) => ({
  estimatedFromMs: { policy: policy.estimatedFromMs, against: against.estimatedFromMs },
  unknownMs: policy.unknownMs,
  policy: sumsText(policy),
  against: sumsText(against),
});

const policyFor = (policies: PolicySet, inventory: CompleteInventory) => {
  const selection = selectPolicy(policies, inventory);
  return selection.kind === 'policy' ? selection.record.policy : null;
};

const thresholdFor = (policies: PolicySet, inventory: CompleteInventory): number | null =>
  policyFor(policies, inventory)?.imageGCHighThresholdPercent ?? null;

export const sumsText = ({
  removed,
  freedBytes,
  regretted,
  unrelieved,
  aboveMs,
  peakPercent,
}: SideSums): SimulatedSums => ({
  removed,
  freedBytes: String(freedBytes),
  regrets: regretted.length,
  unrelieved,
  aboveMs,
  peakPercent,
});
