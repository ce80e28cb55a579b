import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { RecentResults } from '../results/recent-results.ts';
import { RemovalCounts } from './removal-counts.ts';

interface Before {
  readonly recent: RecentResults;
  readonly connection: Pick<ApiConnection, 'clock'>;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** Removals of earlier lives of the executor; where nobody knows how long ago they were, they count as of now. */
export function removalsBefore({ recent, connection, nowMs }: Before): RemovalCounts {
  const removals = new RemovalCounts();
  const atMs = nowMs();
  const time = connection.clock.at(atMs);
  for (const { serverMs, countsFor } of recent.removals) {
    const agoMs = time === null ? 0 : Math.max(0, time.earliestMs - serverMs);
    removals.wentBefore(atMs - agoMs, countsFor);
  }
  return removals;
}
