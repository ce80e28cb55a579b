import type { DatabaseSync } from 'node:sqlite';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { DashboardFreed } from '../../../schemas/reports/dashboard.ts';
import { removedBecause } from '../../decision/rule-text.ts';
import { bigSum, bigSumOf } from './big-sum.ts';

/** A time by the log's clock; without `toMs` up to the newest. */
export interface FreedRange {
  readonly fromMs: number;
  readonly toMs: number | null;
}

type Sums = Pick<DashboardFreed, 'objects' | 'freedBytes' | 'unmeasured' | 'estimatedBytes'>;

const SUMS = `SELECT kind, rule, count(*) AS objects, ${bigSum('freed_bytes', 'freed')},
  sum(freed_bytes IS NULL) AS unmeasured, ${bigSum('estimated_bytes', 'estimated')}
  FROM removals WHERE at_ms >= ? AND at_ms < ? GROUP BY kind, rule`;

/** What went in that time, by rule, the most bytes first, as the report of `fleetgc audit report` has it. */
export function readFreed(
  db: DatabaseSync,
  { fromMs, toMs }: FreedRange,
  knownSinceMs: number | null,
): DashboardFreed {
  const byRule = db
    .prepare(SUMS)
    .all(fromMs, toMs ?? Number.MAX_SAFE_INTEGER)
    .map((row) => ({
      kind: ObjectKind.parse(row.kind),
      rule: String(row.rule),
      because: removedBecause(String(row.rule)),
      objects: Number(row.objects),
      freedBytes: String(bigSumOf(row, 'freed')),
      unmeasured: Number(row.unmeasured),
      estimatedBytes: String(bigSumOf(row, 'estimated')),
    }))
    .toSorted(
      (a, b) =>
        Number(BigInt(b.freedBytes) > BigInt(a.freedBytes)) -
          Number(BigInt(b.freedBytes) < BigInt(a.freedBytes)) || b.objects - a.objects,
    );
  return { fromMs, toMs, knownSinceMs, ...totalOf(byRule), byRule };
}

const totalOf = (sums: readonly Sums[]): Sums => ({
  objects: sums.reduce((sum, { objects }) => sum + objects, 0),
  freedBytes: String(sums.reduce((sum, { freedBytes }) => sum + BigInt(freedBytes), 0n)),
  unmeasured: sums.reduce((sum, { unmeasured }) => sum + unmeasured, 0),
  estimatedBytes: String(sums.reduce((sum, { estimatedBytes }) => sum + BigInt(estimatedBytes), 0n)),
});
