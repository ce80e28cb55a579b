import { MAX_SLICE_BYTES, sliceRecords } from '../limits.ts';
import { type LogRecord, UNCOUNTED } from '../port.ts';
import type { SliceSource } from '../subscription.ts';
import { requireLease } from './lease.ts';
import type { Tenure } from './membership.ts';
import { type Position, positionName } from './positions.ts';

/** Offsets that retention or compaction took away are passed over. */
async function peek({ core, subscription }: Tenure, position: Position): Promise<readonly LogRecord[]> {
  if (position.next >= position.end) return [];
  const records = await core.database.read((statements) =>
    statements.page({
      ...position,
      from: position.next,
      before: position.end,
      maxRecords: sliceRecords(subscription),
      maxBytes: MAX_SLICE_BYTES,
    }),
  );
  if (records.length === 0) position.next = position.end;
  return records;
}

async function commit(tenure: Tenure, position: Position, next: number): Promise<void> {
  const { group } = tenure.subscription;
  await tenure.core.database.write((statements) => {
    requireLease(statements, { group, member: tenure.member });
    statements.commit(group, position.id, next);
  });
}

/** Who reads for a key has no group: its place is known to itself alone. */
async function done(tenure: Tenure, position: Position, records: readonly LogRecord[]): Promise<void> {
  const next = Number(records.at(-1)?.offset ?? position.next - 1) + 1;
  if (tenure.subscription.assignment.kind === 'shared') await commit(tenure, position, next);
  position.next = next;
}

/** A partition of the file, as slices. */
export const sliceSource = (tenure: Tenure, position: Position): SliceSource => ({
  name: positionName(position),
  peek: () => peek(tenure, position),
  // Only processes of this machine write this log.
  deathCount: () => UNCOUNTED,
  done: (records) => done(tenure, position, records),
});
