import { z } from 'zod';
import { Plan } from './plan.ts';

const Count = z.int().nonnegative();

/** What `fleetgc plan` says of the newest inventory of a node that the log has. */
export const DashboardPlan = z.object({
  /** When the log got that inventory, epoch milliseconds by the log's own clock. */
  loggedAtMs: Count,
  /** As `fleetgc plan -o json` prints it; of long lists the beginning. */
  plan: Plan,
  /** Objects in the whole lists. */
  removeCount: Count,
  keepCount: Count,
  /** Why the objects stay that do, the most objects first. */
  keptBecause: z.array(z.object({ because: z.string(), rule: z.string(), objects: Count })),
});
export type DashboardPlan = z.infer<typeof DashboardPlan>;
