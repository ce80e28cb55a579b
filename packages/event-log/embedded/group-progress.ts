import type { GroupProgress } from '../port.ts';
import { isHeld } from './lease.ts';
import { positionName } from './positions.ts';
import type { CommittedPlace, Statements } from './statements.ts';

export function groupProgress(statements: Statements, group: string, nowMs: number): GroupProgress {
  const lag = statements
    .committedBy(group)
    .map((place) => [positionName(place), left(statements, place)] as const);
  const lease = statements.lease(group);
  return { group, members: lease !== null && isHeld(lease, nowMs) ? 1 : 0, lag: new Map(lag) };
}

/** What retention deleted nobody reads any more. */
function left(statements: Statements, { id, nextOffset, committed }: CommittedPlace): number {
  const oldest = statements.oldestOffset(id) ?? nextOffset;
  return Math.max(0, nextOffset - Math.max(committed, oldest));
}
