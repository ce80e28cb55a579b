import type { TimeRange } from '../../../packages/pipeline/read-log.ts';
import type { Moment, Pause, PolicyDeletion } from '../../../schemas/reports/audit-report.ts';
import type { PolicySigns } from './policy-signs.ts';
import { standings } from './standing.ts';

/** Policies that were deleted in the time, in its order. */
export const deletionsIn = (
  range: TimeRange,
  { policies }: Pick<PolicySigns, 'policies'>,
): PolicyDeletion[] =>
  [...policies]
    .flatMap(([name, signs]) => standings(signs).flatMap(({ ended }) => deletion(name, ended)))
    .filter(({ deleted }) => !isBefore(deleted, range))
    .toSorted((a, b) => a.deleted.atMs - b.deleted.atMs);

const deletion = (name: string, deleted: Moment | null): readonly PolicyDeletion[] =>
  deleted === null ? [] : [{ name, deleted }];

/** Pauses that held in the time, in the order in which they began. */
export const pausesIn = (range: TimeRange, { pauses }: Pick<PolicySigns, 'pauses'>): Pause[] =>
  [...pauses.values()]
    .flatMap((signs) => standings(signs))
    .filter(({ ended }) => ended === null || !isBefore(ended, range))
    .map(({ state, begun, ended }) => ({
      selector: state?.selector ?? null,
      reason: state?.reason ?? null,
      begun,
      ended,
    }))
    .toSorted((a, b) => (a.begun?.atMs ?? 0) - (b.begun?.atMs ?? 0));

const isBefore = ({ atMs }: Moment, { fromMs }: TimeRange): boolean => fromMs !== null && atMs < fromMs;
