import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { isApprovalKey } from '../../../schemas/policy/approval.ts';
import {
  isPauseKey,
  isPolicyFor,
  type PauseRecord,
  type PolicyDeletion,
  type PolicyRecordOf,
  type PolicySetOf,
  type PolicyTopicRecord,
  pauseKey,
  policyKey,
} from '../../../schemas/policy/policy.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { addUnder, leastOf } from '../../process/collections.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import type { TimeRange } from '../../records/read-log.ts';
import { readWholeTopic } from '../events/reading.ts';

/** What is known of one key of `gc.policies`, at a time by the log's clock. */
export interface Evidence<State> {
  readonly atMs: number;
  /** `null`: nothing stood under the key. */
  readonly state: State | null;
  /** The record itself says so; else a decision was made under a set of policies that has it, or lacks it. */
  readonly exact: boolean;
  /** The record deletes what its topic said nothing of: alone it does not tell that anything stood. */
  readonly isNotHeld: boolean;
}

type EvidenceByKey<State> = ReadonlyMap<string, readonly Evidence<State>[]>;

/** What is known of `gc.policies` by record key, as far as it is about subjects of one kind. */
export interface PolicyEvidence {
  readonly policies: EvidenceByKey<PolicyRecordOf<SubjectKind>>;
  readonly pauses: EvidenceByKey<PauseRecord>;
}

/** Notes under which sets of policies was decided when, to the minute. */
export class SetsDecidedUnder {
  readonly #byMinute = new Map<number, Map<string, number>>();

  decided(setHash: string, atMs: number): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    const sets = this.#byMinute.get(minute) ?? new Map<string, number>();
    this.#byMinute.set(minute, sets.set(setHash, Math.min(sets.get(setHash) ?? atMs, atMs)));
  }

  /** The sets of each minute, with the time of the first decision under each. */
  minutes(): readonly ReadonlyMap<string, number>[] {
    return [...this.#byMinute.values()];
  }
}

/**
 * What the records of `gc.policies` say, of all time up to the end of the range: what stood before it may stand in it. Other than
 * `policies-in-force.ts`, which asks of one set whether deciders can have had it and so reads records as they do, this takes
 * policies as applied, and pauses, one key at a time: a report tells people what was written.
 */
export async function evidenceOfRecords(
  log: LogReader,
  { subject, range: { toMs } }: { readonly subject: SubjectKind; readonly range: TimeRange },
  signal: AbortSignal,
): Promise<PolicyEvidence & { readonly unreadable: number }> {
  const found = new RecordEvidence(subject);
  for await (const record of readWholeTopic(log, 'policies', signal))
    if (toMs === null || record.timestampMs < toMs) found.take(record);
  return found;
}

class RecordEvidence implements PolicyEvidence {
  readonly policies = new Map<string, Evidence<PolicyRecordOf<SubjectKind>>[]>();
  readonly pauses = new Map<string, Evidence<PauseRecord>[]>();
  readonly #subject: SubjectKind;
  unreadable = 0;

  constructor(subject: SubjectKind) {
    this.#subject = subject;
  }

  take(record: LogRecord): void {
    const key = record.key ?? '';
    const parsed = parseRecord('policies', record);
    if (parsed.ok) this.#written(record, key, parsed.event);
    else this.unreadable++;
  }

  #written(record: LogRecord, key: string, event: PolicyTopicRecord): void {
    switch (event.type) {
      case 'fleetgc.pause':
        addUnder(this.pauses, key, exactly(record, event));
        break;
      case 'fleetgc.policy-deletion':
        if (isApprovalKey(key)) break;
        if (isPauseKey(key)) addUnder(this.pauses, key, deletedBy<PauseRecord>(record, event));
        else addUnder(this.policies, key, deletedBy<PolicyRecordOf<SubjectKind>>(record, event));
        break;
      // Nodes know none, and of clusters nothing is reported yet.
      case 'fleetgc.approval':
        break;
      case 'fleetgc.policy':
      case 'fleetgc.cluster-policy':
        if (isPolicyFor(this.#subject, event)) addUnder(this.policies, key, exactly(record, event));
        break;
    }
  }
}

const exactly = <State>({ timestampMs }: LogRecord, state: State | null): Evidence<State> => ({
  atMs: timestampMs,
  state,
  exact: true,
  isNotHeld: false,
});

const deletedBy = <State>(record: LogRecord, { wasHeld }: PolicyDeletion): Evidence<State> => ({
  ...exactly<State>(record, null),
  isNotHeld: !wasHeld,
});

/** With what decisions say of the same keys, and of those of which no record is there any more. */
export function withDecisions(
  records: PolicyEvidence,
  decidedUnder: SetsDecidedUnder,
  policySetOf: (hash: string) => PolicySetOf<SubjectKind> | null,
): PolicyEvidence {
  const minutes = decidedUnder
    .minutes()
    .map((sets) => knownSets(sets, policySetOf))
    .filter(({ length }) => length > 0);
  return {
    policies: extended(records.policies, minutes, ({ policies }) =>
      policies.map((record) => [policyKey(record), record]),
    ),
    pauses: extended(records.pauses, minutes, ({ pauses }) =>
      pauses.map((pause) => [pauseKey(pause.selector), pause]),
    ),
  };
}

/** A set that was decided under, and when first in its minute. */
interface DecidedUnder {
  readonly atMs: number;
  readonly set: PolicySetOf<SubjectKind>;
}

function knownSets(
  sets: ReadonlyMap<string, number>,
  policySetOf: (hash: string) => PolicySetOf<SubjectKind> | null,
): readonly DecidedUnder[] {
  return [...sets]
    .flatMap(([hash, atMs]) => {
      const set = policySetOf(hash);
      return set === null ? [] : [{ set, atMs }];
    })
    .toSorted((a, b) => b.atMs - a.atMs);
}

/** Within a minute what one decider still knows, or knows already, stands. */
function extended<State>(
  records: EvidenceByKey<State>,
  minutes: readonly (readonly DecidedUnder[])[],
  entriesOf: (set: PolicySetOf<SubjectKind>) => readonly (readonly [key: string, State])[],
): EvidenceByKey<State> {
  const decided = minutes.map((sets) => ({
    atMs: leastOf(sets.map(({ atMs }) => atMs)),
    stood: new Map(
      sets.flatMap(({ atMs, set }) =>
        entriesOf(set).map(([key, state]): [string, Evidence<State>] => [
          key,
          { atMs, state, exact: false, isNotHeld: false },
        ]),
      ),
    ),
  }));
  const keys = new Set([...records.keys(), ...decided.flatMap(({ stood }) => [...stood.keys()])]);
  return new Map(
    [...keys].map((key) => [
      key,
      [
        ...(records.get(key) ?? []),
        ...decided.map(
          ({ atMs, stood }) => stood.get(key) ?? { atMs, state: null, exact: false, isNotHeld: false },
        ),
      ],
    ]),
  );
}
