import { openSource } from '../../../packages/audit/events/open-source.ts';
import { newestDeciders } from '../../../packages/audit/simulate/compare.ts';
import { simulate, simulatedPolicies } from '../../../packages/audit/simulate/simulate.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { SimulationOutcome } from '../../../schemas/reports/dashboard-policies.ts';
import type { SimulationProgress, SimulationTask } from './simulations.ts';

/** Of each list; the sums are of all. */
const MOST_NODES = 500;
const MOST_POOLS = 200;
const MOST_REGRETS = 200;

/** Simulates by the function of `fleetgc audit simulate`. Throws what it throws. */
export async function runTask(
  { source, range, regretWindowMs, policy, against }: SimulationTask,
  onProgress: (progress: SimulationProgress) => void,
  signal: AbortSignal,
): Promise<SimulationOutcome> {
  await using log = await openSource(source);
  const comparison = {
    policy: simulatedPolicies(policy),
    against: simulatedPolicies(against),
    regretWindowMs,
    deciders: await newestDeciders(),
  };
  const simulation = await simulate({ log, range, comparison, isWanted: () => true, onProgress }, signal);
  const { nodes, pools, regrets } = simulation;
  if (nodes.length === 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      'there is nothing to simulate: no complete inventory of any node lies in that time',
    );
  return {
    simulation: {
      ...simulation,
      nodes: nodes.slice(0, MOST_NODES),
      pools: pools.slice(0, MOST_POOLS),
      regrets: regrets.slice(0, MOST_REGRETS),
    },
    nodeCount: nodes.length,
    poolCount: pools.length,
    regretCount: regrets.length,
  };
}
