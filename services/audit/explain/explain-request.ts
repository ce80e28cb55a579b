import type { TimeRange } from '../../../packages/pipeline/read-log.ts';

/** What is asked for, and where to look for it. */
export interface ExplainRequest {
  readonly name: string;
  /** `<node>` or `<cluster>/<node>`; `null`: any. */
  readonly node: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}
