import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
import type { Moment, Pause, PolicyDeletion } from '../../../schemas/reports/audit-report.ts';
import { contentHash } from '../../canonical/ids.ts';
import { policySetHash, rebuiltPolicySet } from '../../decision/policy-set.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { memoize } from '../../process/memoize.ts';
import { parseJson, parseValueOf } from '../../records/parse/parse-record.ts';
import type { TimeRange } from '../../records/read-log.ts';
import { readWholeTopic } from '../events/reading.ts';
import { doubledMember, doubledText } from '../events/record-reader.ts';
import type { Evidence, PolicyEvidence } from './policy-evidence.ts';

/** A record of `gc.policy-versions` that is not what it says. */
export interface PolicyProblem {
  readonly record: LogRecord;
  readonly message: string;
}

/** Every policy that was ever applied, and every set of them that was ever decided with. */
export interface PolicyHistory {
  /** The whole set of this hash, of policies for such subjects; `null` when it cannot be put together. */
  policySetOf<Kind extends SubjectKind>(subject: Kind, hash: string): PolicySetOf<Kind> | null;
  /** Why it cannot, in half a sentence. */
  whyUnknown(hash: string): string;
  /**
   * Whether the set of this hash was written down by then, by the log's clock, as deciders do before they decide under it. It may
   * also have been on another topic of this name, which was deleted.
   */
  mayBeWritten(hash: string, byMs: number): boolean;
  readonly problems: readonly PolicyProblem[];
}

/** Reads `gc.policy-versions` whole, without a group. */
export async function readPolicyHistory(log: LogReader, signal: AbortSignal): Promise<PolicyHistory> {
  const collected: Collected = { policies: new Map(), sets: new Map(), setsSinceMs: new Map(), problems: [] };
  let beganMs: number | null = null;
  for await (const record of readWholeTopic(log, 'policyVersions', signal)) {
    if (record.offset === 0n) beganMs = record.timestampMs;
    collect(record, collected);
  }
  return historyOf(collected, beganMs);
}

interface Collected {
  readonly policies: Map<string, PolicyRecordOf<SubjectKind>>;
  readonly sets: Map<string, PolicySetRecord>;
  /** When each set was written first. */
  readonly setsSinceMs: Map<string, number>;
  readonly problems: PolicyProblem[];
}

function collect(record: LogRecord, collected: Collected): void {
  const { problems } = collected;
  const json = parseJson(record.topic, record.value);
  const parsed = json.ok ? parseValueOf('policyVersions', json.event, record) : json;
  if (!parsed.ok) {
    problems.push({ record, message: parsed.rejection.message });
    return;
  }
  const doubled = json.ok && record.value !== null ? doubledMember(record.value, json.event) : null;
  if (doubled !== null) problems.push({ record, message: doubledText(doubled) });
  const { event } = parsed;
  // Pauses, approvals and deletions stand in no set by their hashes: sets tell pauses and approvals as a whole.
  if (event.type === 'fleetgc.policy-set') collectSet(event, record, collected);
  if (event.type === 'fleetgc.policy' || event.type === 'fleetgc.cluster-policy')
    collectPolicy(event, record, collected);
}

function collectPolicy(
  event: PolicyRecordOf<SubjectKind>,
  record: LogRecord,
  { policies, problems }: Collected,
): void {
  if (contentHash(event.policy) === event.hash) policies.set(event.hash, event);
  else problems.push({ record, message: `policy ${event.policy.name} ${NOT_OF_HASH}` });
}

const NOT_OF_HASH = 'is not the one that its hash was made of';

function collectSet(
  event: PolicySetRecord,
  record: LogRecord,
  { sets, setsSinceMs, problems }: Collected,
): void {
  if (policySetHash(event.policies, event.pauses, event.approvals ?? []) !== event.hash) {
    problems.push({ record, message: `the set of policies ${NOT_OF_HASH}` });
    return;
  }
  sets.set(event.hash, event);
  setsSinceMs.set(event.hash, setsSinceMs.get(event.hash) ?? record.timestampMs);
}

/** `beganMs`: when the very first record was written; `null` where it is not there any more. */
function historyOf(
  { policies, sets, setsSinceMs, problems }: Collected,
  beganMs: number | null,
): PolicyHistory {
  const rebuiltFor = <Kind extends SubjectKind>(subject: Kind) =>
    memoize((hash): PolicySetOf<Kind> | null => {
      const named = sets.get(hash);
      return named === undefined
        ? null
        : rebuiltPolicySet(subject, named, (policyHash) => policies.get(policyHash));
    });
  const rebuilt: { readonly [Kind in SubjectKind]: (hash: string) => PolicySetOf<Kind> | null } = {
    node: rebuiltFor('node'),
    cluster: rebuiltFor('cluster'),
  };
  return {
    problems,
    policySetOf: (subject, hash) => rebuilt[subject](hash),
    mayBeWritten: (hash, byMs) =>
      (setsSinceMs.get(hash) ?? Number.POSITIVE_INFINITY) <= byMs || (beganMs !== null && beganMs > byMs),
    whyUnknown: (hash) => {
      const { name } = TOPICS.policyVersions;
      const named = sets.get(hash);
      if (named === undefined) return `${name} does not say what the set of policies ${hash} consisted of`;
      const missing = named.policies.filter((policy) => !policies.has(policy.hash));
      return `${name} lacks ${missing.map((policy) => `policy ${policy.name} of hash ${policy.hash}`).join(', ')}`;
    },
  };
}

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
