import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { DashboardPlan } from '../../../schemas/reports/dashboard-plan.ts';
import type { Plan, PlannedObject, PlanTrigger } from '../../../schemas/reports/plan.ts';
import { countedAs } from '../../decision/rule-text.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { planFor } from '../../plan/plan.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { firstRecord } from '../../records/read-log.ts';
import type { InventoryPlace } from '../projection/store.ts';

/** Of each list; nobody reads more, and the sums are of all. */
const MOST_OBJECTS = 1_000;
const MOST_REASONS = 100;

interface PlanNeeds {
  readonly log: Pick<EventLog, 'read'>;
  /** Of the newest inventory. */
  readonly place: InventoryPlace;
  readonly policies: PolicySet;
  readonly trigger: PlanTrigger;
}

/** What would go next, by the function of `fleetgc plan`; `null` where the inventory does not lie on the log any more. */
export async function readPlan(
  { log, place, policies, trigger }: PlanNeeds,
  signal: AbortSignal,
): Promise<DashboardPlan | null> {
  const { partition, offset } = place;
  const request = { topic: TOPICS.inventory.name, partition, from: { offset } } as const;
  const record = await firstRecord(log, request, signal);
  if (record === null || !isAt(record, place)) return null;
  const parsed = parseRecord('inventory', record);
  if (!parsed.ok) return null;
  return shortened(planFor({ inventory: parsed.event, policies, trigger }), record.timestampMs);
}

const isAt = ({ offset, key }: LogRecord, place: InventoryPlace): boolean =>
  offset === place.offset && key === place.node;

const shortened = (plan: Plan, loggedAtMs: number): DashboardPlan => ({
  loggedAtMs,
  plan: { ...plan, remove: plan.remove.slice(0, MOST_OBJECTS), keep: plan.keep.slice(0, MOST_OBJECTS) },
  removeCount: plan.remove.length,
  keepCount: plan.keep.length,
  keptBecause: reasonsOf(plan.keep),
});

/** As the table of `fleetgc plan` sums them up. */
const reasonsOf = (keep: readonly PlannedObject[]): DashboardPlan['keptBecause'] =>
  [...Map.groupBy(keep, (object) => `${object.rule} ${countedAs(object.because, object)}`).values()]
    .flatMap((objects) => {
      const [first] = objects;
      if (first === undefined) return [];
      return [{ because: countedAs(first.because, first), rule: first.rule, objects: objects.length }];
    })
    .toSorted((a, b) => b.objects - a.objects)
    .slice(0, MOST_REASONS);
