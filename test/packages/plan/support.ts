import { planFor } from '../../../packages/plan/plan.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Plan, PlannedObject, PlanTrigger } from '../../../schemas/reports/plan.ts';
import { policySet } from '../../fixtures/policy.ts';

/** The plan under a policy for every node. */
export const plan = (
  inventory: Inventory,
  { trigger = 'periodic', ...overrides }: Partial<Policy> & { readonly trigger?: PlanTrigger } = {},
): Plan => planFor({ inventory, policies: policySet(overrides), trigger });

/** `image a D11` */
const told = ({ kind, id, rule }: PlannedObject): string => `${kind} ${id} ${rule}`;

export const removed = ({ remove }: Plan): readonly string[] => remove.map(told);
export const kept = ({ keep }: Plan): readonly string[] => keep.map(told);
