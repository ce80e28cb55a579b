import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { isRemoval } from '../../../../schemas/events/cluster-command.ts';
import type { IntendedObject } from '../../../../schemas/events/cluster-intent.ts';
import type { FoundLater } from '../../../../schemas/events/cluster-result.ts';
import type { RecentResults } from '../results/recent-results.ts';
import { PODS_OF_MISSING_NODES, ruleKey } from './count-keys.ts';
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
  // Of what was announced and not told nobody knows yet whether it went.
  for (const { objects } of recent.open)
    for (const { object, action, ownRule } of objects.values())
      if (isRemoval({ action })) {
        removals.take(object.uid, atMs, Number.POSITIVE_INFINITY);
        for (const key of keysOf({ action, ownRule })) removals.beside(key, object.uid, atMs);
      }
  return removals;
}

/** What limits a removal by itself: the rule of a policy, and missing nodes, of which an intent does not say whether its pod is on one. */
const keysOf = ({ action, ownRule }: Pick<IntendedObject, 'action' | 'ownRule'>): readonly string[] => [
  ...(ownRule === undefined ? [] : [ruleKey(ownRule)]),
  ...(action === 'remove-pod' ? [PODS_OF_MISSING_NODES] : []),
];

/** What an announced object was found to be: only of what is unchanged it is certain that it did not go. */
export function noteSettled(
  removals: RemovalCounts,
  { each, found }: { readonly each: IntendedObject; readonly found: FoundLater },
  nowMs: number,
): void {
  const { uid } = each.object;
  removals.letGo(uid);
  if (!isRemoval(each) || found === 'unchanged') return;
  for (const key of keysOf(each)) removals.mayHaveGone(key, uid, nowMs);
}
