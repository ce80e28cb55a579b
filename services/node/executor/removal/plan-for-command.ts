import type { Command } from '../../../../schemas/events/command.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { commandRefusal, NO_POLICY } from '../checks/command-checks.ts';
import { nothingPlanned, type OwnPlan, ownPlan } from '../checks/own-plan.ts';
import type { RemovalParts } from './object-work.ts';

/**
 * A command can take ten minutes, in which its first plan becomes wrong. A plan scans the whole node, so one for each
 * object would cost more than the removals; so long a scan after the last one is no load.
 */
const MAX_PLAN_AGE_MS = 10_000;

type PlanParts = Pick<RemovalParts, 'recorder' | 'tools'>;

/** The own plan for a command, made anew where it is old when it is asked for. The function never rejects. */
export function plansFor(command: Command, parts: PlanParts): () => Promise<OwnPlan> {
  const { clock } = parts.recorder;
  let last: { readonly plan: OwnPlan; readonly madeAt: Instant } | null = null;
  return async () => {
    if (last !== null && isYoung(last.madeAt, clock.now())) return last.plan;
    const plan = await makePlan(command, parts);
    // From its end: before each object a runtime that is slow to scan would else be scanned.
    last = { plan, madeAt: clock.now() };
    return plan;
  };
}

const isYoung = (madeAt: Instant, now: Instant): boolean =>
  now.bootId === madeAt.bootId && now.sinceBootMs - madeAt.sinceBootMs <= MAX_PLAN_AGE_MS;

/** By the policy in force at this moment; what holds the whole command up holds up each of its objects. */
async function makePlan(command: Command, { recorder, tools }: PlanParts): Promise<OwnPlan> {
  const restrictions = await tools.restrictions();
  const { policy } = restrictions;
  const refusal = commandRefusal(command, restrictions, recorder.clock.now());
  if (refusal) return nothingPlanned(command, refusal);
  if (policy.kind !== 'enforced') return nothingPlanned(command, NO_POLICY);
  return await ownPlan(command, policy.record.policy, tools.own);
}
