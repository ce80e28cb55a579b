import type { Moment, Pause, PolicyDeletion } from '../../../schemas/reports/audit-report.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import type { TimeRange } from '../../records/read-log.ts';
import type { Evidence, PolicyEvidence } from './policy-evidence.ts';

/** Policies that were deleted in the time, in its order. */
export const deletionsIn = (
  range: TimeRange,
  { policies }: Pick<PolicyEvidence, 'policies'>,
): PolicyDeletion[] =>
  [...policies]
    .flatMap(([name, evidence]) => periodsOf(evidence).flatMap(({ ended }) => deletion(name, ended)))
    .filter(({ deleted }) => !isBefore(deleted, range))
    .toSorted((a, b) => a.deleted.atMs - b.deleted.atMs);

const deletion = (name: string, deleted: Moment | null): readonly PolicyDeletion[] =>
  deleted === null ? [] : [{ name, deleted }];

/** Pauses that held in the time, in the order in which they began. */
export const pausesIn = (range: TimeRange, { pauses }: Pick<PolicyEvidence, 'pauses'>): Pause[] =>
  [...pauses.values()]
    .flatMap((evidence) => periodsOf(evidence))
    .filter(({ ended }) => ended === null || !isBefore(ended, range))
    .map(({ state, begun, ended }) => ({
      selector: state?.selector ?? null,
      reason: state?.reason ?? null,
      by: state === null ? null : (state.by ?? ''),
      begun,
      ended,
    }))
    .toSorted((a, b) => (a.begun?.atMs ?? 0) - (b.begun?.atMs ?? 0));

const isBefore = ({ atMs }: Moment, { fromMs }: TimeRange): boolean => fromMs !== null && atMs < fromMs;

/** A time for which something stood under a key. */
interface Period<State> {
  /** As it stood last; `null` where only its end is known. */
  readonly state: State | null;
  /** `null`: before anything is known. */
  readonly begun: Moment | null;
  /** `null`: not in the time that was read. */
  readonly ended: Moment | null;
}

/** A decider may decide for so long by what it knew before a record. */
const LAG_MS = 10 * MINUTE_MS;

/** When something stood under a key. Records are compacted away soon; then decisions are the only witnesses. */
function periodsOf<State>(evidence: readonly Evidence<State>[]): readonly Period<State>[] {
  const runs = runsOf(withoutLate(evidence.toSorted((a, b) => a.atMs - b.atMs)));
  return runs.flatMap((run, index): readonly Period<State>[] => {
    const isFirst = index === 0;
    const state = run.at(-1)?.state ?? null;
    if (state === null) return endedUnseen(isFirst ? run : run.slice(1));
    return [{ state, begun: begunWith(run, isFirst), ended: momentOf(runs[index + 1]?.[0]) }];
  });
}

/** What a decision finds there at the beginning has begun before it. */
const begunWith = ([first]: readonly Evidence<unknown>[], isFirst: boolean): Moment | null =>
  isFirst && first?.exact === false ? null : momentOf(first);

/** Records that end what nothing else tells of. */
const endedUnseen = (run: readonly Evidence<unknown>[]): readonly Period<never>[] =>
  run
    .filter(({ exact, isNotHeld }) => exact && !isNotHeld)
    .map((one) => ({ state: null, begun: null, ended: momentOf(one) }));

/** Without decisions by what a decider knew before a record. */
function withoutLate<State>(evidence: readonly Evidence<State>[]): readonly Evidence<State>[] {
  let exactAtMs = Number.NEGATIVE_INFINITY;
  return evidence.filter(({ atMs, exact }) => {
    if (exact) exactAtMs = atMs;
    return exact || atMs - exactAtMs >= LAG_MS;
  });
}

/** Evidence in a row that agrees on whether something stood. */
function runsOf<State>(evidence: readonly Evidence<State>[]): readonly (readonly Evidence<State>[])[] {
  const runs: Evidence<State>[][] = [];
  for (const one of evidence) {
    const run = runs.at(-1);
    if (run?.[0] !== undefined && (run[0].state === null) === (one.state === null)) run.push(one);
    else runs.push([one]);
  }
  return runs;
}

const momentOf = (one: Evidence<unknown> | undefined): Moment | null =>
  one === undefined ? null : { atMs: one.atMs, exact: one.exact };
