import { z } from 'zod';
import { ClusterPolicy } from '../policy/cluster-policy.ts';
import { Policy } from '../policy/policy.ts';
import { AuditSimulation } from './audit-simulation.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

const ListedPolicy = z.object({
  subject: z.enum(['node', 'cluster']),
  name: z.string(),
  policyVersion: z.int().positive(),
  hash: z.string(),
  mode: z.union([Policy.shape.mode, ClusterPolicy.shape.mode]),
  /** Nodes that were heard in the last day and for which it holds, as `fleetgc status` counts them; `null` of one for clusters. */
  nodes: Count.nullable(),
});

/** The policies in force, in the order of their names. */
export const DashboardPolicies = z.object({ policies: z.array(ListedPolicy) });
export type DashboardPolicies = z.infer<typeof DashboardPolicies>;

export const DashboardPolicy = ListedPolicy.extend({
  /** As it was written. */
  source: z.string(),
  /** Of the nodes for which it holds, the first keys (`<cluster>/<node>`). */
  someNodes: z.array(z.string()),
});
export type DashboardPolicy = z.infer<typeof DashboardPolicy>;

const Problem = z.object({
  file: z.string(),
  line: z.int().positive(),
  column: z.int().positive(),
  path: z.string(),
  message: z.string(),
});

/** What `fleetgc policy validate` says of a text. */
export const DashboardPolicyCheck = z.object({
  valid: z.boolean(),
  policies: z.array(z.object({ subject: z.enum(['node', 'cluster']), name: z.string() })),
  problems: z.array(Problem),
  warnings: z.array(Problem),
  /** There are more problems, or more warnings, than these. */
  isMore: z.boolean(),
});
export type DashboardPolicyCheck = z.infer<typeof DashboardPolicyCheck>;

export const SimulationState = z.enum(['waiting', 'running', 'done', 'failed', 'cancelled']);
export type SimulationState = z.infer<typeof SimulationState>;

const SimulationStanding = z.object({
  id: z.string(),
  /** Who asked for it. */
  by: z.string(),
  askedAtMs: EpochMs,
  state: SimulationState,
  /** Names of the policies that were written. */
  policies: z.array(z.string()),
  days: z.int().positive(),
  /** How far it is; `null` before it began. */
  progress: z.object({ done: z.number(), of: Count, records: Count }).nullable(),
  /** Why there is no result, in a sentence; `null` where there is one, or may still be. */
  problem: z.string().nullable(),
});
export type SimulationStanding = z.infer<typeof SimulationStanding>;

/** The simulations of this process, the newest first. */
export const DashboardSimulations = z.object({ simulations: z.array(SimulationStanding) });
export type DashboardSimulations = z.infer<typeof DashboardSimulations>;

/** As `fleetgc audit simulate -o json` prints it; of long lists the beginning. */
export const SimulationOutcome = z.object({
  simulation: AuditSimulation,
  /** Of the whole lists. */
  nodeCount: Count,
  poolCount: Count,
  regretCount: Count,
});
export type SimulationOutcome = z.infer<typeof SimulationOutcome>;

export const DashboardSimulation = SimulationStanding.extend({ outcome: SimulationOutcome.nullable() });
export type DashboardSimulation = z.infer<typeof DashboardSimulation>;
