import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { Moment } from '../../../schemas/reports/audit-report.ts';

/** What is known of one key of `gc.policies`, at a time by the log's clock. */
export interface Sign<State> {
  readonly atMs: number;
  /** `null`: nothing stood under the key. */
  readonly state: State | null;
  /** The record itself says so; else a decision was made under a set of policies that has it, or lacks it. */
  readonly exact: boolean;
}

/** A time for which something stood under a key. */
export interface Standing<State> {
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
export function standings<State>(signs: readonly Sign<State>[]): readonly Standing<State>[] {
  const runs = runsOf(withoutLate(signs.toSorted((a, b) => a.atMs - b.atMs)));
  return runs.flatMap((run, index): readonly Standing<State>[] => {
    const isFirst = index === 0;
    const state = run.at(-1)?.state ?? null;
    if (state === null) return unseen(isFirst ? run : run.slice(1));
    return [{ state, begun: begunWith(run, isFirst), ended: momentOf(runs[index + 1]?.[0]) }];
  });
}

/** What a decision finds there at the beginning has begun before it. */
const begunWith = ([first]: readonly Sign<unknown>[], isFirst: boolean): Moment | null =>
  isFirst && first?.exact === false ? null : momentOf(first);

/** Records that end what nothing else tells of. */
const unseen = (run: readonly Sign<unknown>[]): readonly Standing<never>[] =>
  run.filter(({ exact }) => exact).map((sign) => ({ state: null, begun: null, ended: momentOf(sign) }));

/** Without decisions by what a decider knew before a record. */
function withoutLate<State>(signs: readonly Sign<State>[]): readonly Sign<State>[] {
  let exactAtMs = Number.NEGATIVE_INFINITY;
  return signs.filter(({ atMs, exact }) => {
    if (exact) exactAtMs = atMs;
    return exact || atMs - exactAtMs >= LAG_MS;
  });
}

/** Signs that agree on whether something stood, in a row. */
function runsOf<State>(signs: readonly Sign<State>[]): readonly (readonly Sign<State>[])[] {
  const runs: Sign<State>[][] = [];
  for (const sign of signs) {
    const run = runs.at(-1);
    if (run?.[0] !== undefined && (run[0].state === null) === (sign.state === null)) run.push(sign);
    else runs.push([sign]);
  }
  return runs;
}

const momentOf = (sign: Sign<unknown> | undefined): Moment | null =>
  sign === undefined ? null : { atMs: sign.atMs, exact: sign.exact };
