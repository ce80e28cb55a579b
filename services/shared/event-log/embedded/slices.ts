import { toFleetGcError } from '../../errors.ts';
import { backOffMs, pause } from '../back-off.ts';
import { MAX_SLICE_BYTES, sliceRecords } from '../limits.ts';
import type { LogRecord } from '../port.ts';
import { requireLease } from './lease.ts';
import type { Tenure } from './membership.ts';
import type { Position } from './positions.ts';

const BACK_OFF = { firstMs: 100, mostMs: 30_000 };

const nextSlice = ({ core, subscription }: Tenure, position: Position): Promise<readonly LogRecord[]> =>
  core.database.read((statements) =>
    statements.page({
      ...position,
      from: position.next,
      before: position.end,
      maxRecords: sliceRecords(subscription),
      maxBytes: MAX_SLICE_BYTES,
    }),
  );

async function commit(tenure: Tenure, position: Position, next: number): Promise<void> {
  const { group } = tenure.subscription;
  await tenure.core.database.write((statements) => {
    requireLease(statements, { group, member: tenure.member });
    statements.commit(group, position.id, next);
  });
  position.next = next;
}

/** Offsets that retention or compaction took away are passed over. */
async function serveSlice(tenure: Tenure, position: Position): Promise<void> {
  const records = await nextSlice(tenure, position);
  const last = records.at(-1);
  if (last === undefined) {
    position.next = position.end;
    return;
  }
  await tenure.handle(records, tenure.over);
  if (!tenure.over.aborted) await commit(tenure, position, Number(last.offset) + 1);
}

/** Reports a failed slice; true when it ends the whole tenure. */
function endsTenure(tenure: Tenure, position: Position, error: unknown): boolean {
  const { code, message } = toFleetGcError(error);
  if (code === 'GROUP_LOST' || code === 'LOG_CORRUPT') {
    tenure.fail(error);
    return true;
  }
  const problem = `${position.topic}/${position.partition} stands still at offset ${position.next}: ${message}`;
  tenure.core.context.logger.warn({ err: error, group: tenure.subscription.group }, problem);
  tenure.report(problem);
  return false;
}

/** Serves one partition up to its end. A slice that fails comes again, and holds up its own partition only. */
export async function drain(tenure: Tenure, position: Position): Promise<void> {
  const { ending } = tenure;
  let failures = 0;
  while (position.next < position.end && !ending.aborted) {
    try {
      await serveSlice(tenure, position);
      if (failures > 0) tenure.report(null);
      failures = 0;
    } catch (error) {
      if (tenure.over.aborted || endsTenure(tenure, position, error)) return;
      await pause(backOffMs(BACK_OFF, failures, tenure.core.context.random), ending);
      failures += 1;
    }
  }
}
