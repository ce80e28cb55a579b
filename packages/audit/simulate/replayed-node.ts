import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { POOL_LABEL, selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { NodeSimulation, SimulationSums } from '../../../schemas/reports/audit-simulation.ts';
import type { ComparedRun, RunSums } from './compared-run.ts';
import type { MeasuredOf } from './measured-removals.ts';
import { RecordedRun } from './recorded-run.ts';
import type { SimulationDeciders } from './simulated-decisions.ts';
import { SimulatedRun } from './simulated-run.ts';

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
  readonly node: NodeSimulation;
  readonly sides: { readonly policy: RunSums; readonly against: RunSums };
  /** Of its inventories. */
  readonly withoutDiskStats: number;
}

/** Disk statistics come once a minute while nothing changes; without any for so long, nobody knows of the past. */
const STATS_HOLD_MS = 5 * 60_000;

/** Replays what is on the log of one installation of a node, in its order, both ways. */
export function replayNode(comparison: Comparison, measuredOf: MeasuredOf) {
  const { policy, against, regretWindowMs, deciders } = comparison;
  const simulated = (policies: PolicySet): ComparedRun =>
    new SimulatedRun({ deciding: { deciders, policies }, regretWindowMs, measuredOf });
  const sides = {
    policy: simulated(policy),
    against: against === null ? new RecordedRun(regretWindowMs) : simulated(against),
  };
  const both = [sides.policy, sides.against];
  let last: CompleteInventory | null = null;
  let inventories = 0;
  let statsAtMs = Number.NEGATIVE_INFINITY;
  let withoutDiskStats = 0;

  return {
    inventory: (inventory: CompleteInventory, atMs: number): void => {
      last = inventory;
      inventories++;
      if (atMs - statsAtMs > STATS_HOLD_MS) withoutDiskStats++;
      for (const run of both) run.inventory(inventory, atMs, policyFor(policy, inventory));
    },
    diskStats: (stats: DiskStats, atMs: number): void => {
      statsAtMs = atMs;
      for (const run of both) run.diskStats(stats, atMs);
    },
    result: (event: EventOf<'results'>, atMs: number): void => {
      if (event.type === 'fleetgc.node.pressure-unrelieved') for (const run of both) run.unrelieved(event);
      if (event.type !== 'fleetgc.node.object-result' || event.result.outcome !== 'removed') return;
      for (const run of both) run.wentAway(event, event.result, atMs);
    },
    /** `null` where no complete inventory came. */
    compared: (): ComparedNode | null => {
      if (last === null) return null;
      const sums = { policy: sides.policy.sums(), against: sides.against.sums() };
      const node = { ...describe(last, { policy, against }), inventories, ...told(sums) };
      return { node, sides: sums, withoutDiskStats };
    },
  };
}

/** A recorded node that is run both ways. */
export type ReplayedNode = ReturnType<typeof replayNode>;

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
  observedMs: policy.observedMs,
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

/** Estimates and measurements become one number only here: a simulation has hardly any of the latter, and both sides are compared. */
const sumsText = ({
  removed,
  measuredBytes,
  estimatedBytes,
  unknown,
  guessed,
  regretted,
  unrelieved,
  aboveMs,
  peakPercent,
}: RunSums): SimulationSums => ({
  removed,
  freedBytes: String(measuredBytes + estimatedBytes),
  unmeasured: unknown,
  guessed,
  regrets: regretted.length,
  unrelieved,
  aboveMs,
  peakPercent,
});
