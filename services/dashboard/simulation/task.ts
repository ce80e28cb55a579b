import type { WorkerSource } from '../../../packages/audit/events/open-source.ts';
import type { WrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import type { TimeRange } from '../../../packages/records/read-log.ts';
import type { SimulationOutcome, SimulationStanding } from '../../../schemas/reports/dashboard-policies.ts';

/** What a thread simulates: it opens the log by itself. */
export interface SimulationTask {
  readonly source: WorkerSource;
  readonly range: TimeRange;
  readonly regretWindowMs: number;
  /** Those to try, and those to compare with. */
  readonly policy: readonly WrittenPolicy[];
  readonly against: readonly WrittenPolicy[];
}

export type SimulationProgress = NonNullable<SimulationStanding['progress']>;

/** To a thread: to let go of what it has open, and end. */
export type SimulationOrder = 'end';

/** From a thread. */
export type SimulationAnswer =
  | { readonly kind: 'progress'; readonly progress: SimulationProgress }
  | { readonly kind: 'done'; readonly outcome: SimulationOutcome }
  | { readonly kind: 'failed'; readonly problem: string };
