import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type ApprovalRecord, approvalKey, isApprovalKey } from '../../../schemas/policy/approval.ts';
import {
  isPauseKey,
  isPolicyFor,
  type PauseRecord,
  type PolicyRecordOf,
  type PolicySetOf,
  pauseKey,
  policyKey,
} from '../../../schemas/policy/policy.ts';
import { contentHash } from '../../canonical/ids.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { policyEntryOf } from '../../policy/policy-reading.ts';
import { HOUR_MS } from '../../process/durations.ts';
import { NOBODY_PROVED } from '../../records/trust/trust.ts';
import { timeText } from '../../text/time-text.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { readWholeTopic } from '../events/reading.ts';
import { SETTLED_MS } from '../verify/coverage.ts';
import type { PolicyHistory } from './policy-history.ts';

/**
 * A key that was deleted is known for a day; nobody knows when exactly a broker forgets it.
 * @limit Time for which the audit knows a deleted policy. Keep it below `delete.retention.ms`.
 */
const TOMBSTONES_KEPT_MS = 23 * HOUR_MS;

/** Why a set of policies cannot have been the one to decide under; or why nobody can tell, where the topic was made anew since. */
interface NotInForce {
  readonly kind: 'policies-outdated' | 'policies-never-held' | 'topic-recreated';
  readonly message: string;
  /** The record of `gc.policies` that ended it, where there is one. */
  readonly places: readonly Place[];
}

/** Which sets of policies `gc.policies` held when. */
export interface PoliciesInForce {
  /** `null` where the set held at that time, by the log's clock, or may have. */
  problemOf(set: PolicySetOf<SubjectKind>, atMs: number): NotInForce | null;
}

export interface InForceReading {
  /** Epoch milliseconds: what was written later was not read. */
  readonly nowMs: number;
  /** Whether compaction takes records from this log; in an archive, what it took before is a gap. */
  readonly deletes: boolean;
  readonly written: Pick<PolicyHistory, 'mayBeWritten'>;
}

/** A record of `gc.policies`: what stands under its key from then on. */
interface Change {
  readonly key: string;
  readonly record: LogRecord;
  /** `null` where nothing stands there, `unknown` where nobody can tell. */
  readonly state: string | null | 'unknown';
  /** The pause that a record which cannot be read amounts to. */
  readonly hold: PauseRecord | null;
  /** The policy that stands there, which is in the sets of its own kind of subject alone. */
  readonly policy: PolicyRecordOf<SubjectKind> | null;
}

interface History extends InForceReading {
  readonly changes: readonly Change[];
  /** By key, the number of its last record. */
  readonly last: ReadonlyMap<string, number>;
}

/** Reads `gc.policies` whole, without a group. */
export async function readPoliciesInForce(
  log: LogReader,
  reading: InForceReading,
  signal: AbortSignal,
): Promise<PoliciesInForce> {
  const changes: Change[] = [];
  for await (const record of readWholeTopic(log, 'policies', signal)) changes.push(changeBy(record));
  const last = new Map(changes.map(({ key }, index) => [key, index]));
  const history = { ...reading, changes, last };
  const known = new Map<string, readonly Span[]>();
  return {
    problemOf: (set, atMs) => {
      if (atMs > reading.nowMs) return null;
      const name = `${set.subject} ${set.hash}`;
      const spans = known.get(name) ?? spansOf(set, history);
      known.set(name, spans);
      return heldAt(spans, atMs) ? null : (madeAnew(set, atMs, history) ?? notHeld(spans, atMs, history));
    },
  };
}

function changeBy(record: LogRecord): Change {
  const key = record.key ?? '';
  const entry = policyEntryOf(record, NOBODY_PROVED);
  const about = { key, record, hold: null, policy: null };
  if (entry === null) return { ...about, state: null };
  switch (entry.kind) {
    case 'policy':
      return { ...about, state: stateOf(entry.record), policy: entry.record };
    case 'pause':
    case 'approval':
      return { ...about, state: stateOf(entry.record) };
    case 'unreadable-approval':
      return { ...about, state: null };
    case 'unreadable':
      return { ...about, state: entry.hold === null ? 'unknown' : stateOf(entry.hold), hold: entry.hold };
  }
}

/**
 * What holds, whatever else its record says: a policy that came back has one content and, in `gc.policy-versions`, the record of its
 * last version.
 */
const stateOf = (event: PauseRecord | ApprovalRecord | PolicyRecordOf<SubjectKind>): string =>
  'policy' in event ? `${contentHash(event.policy)} ${event.policyVersion}` : contentHash(event);

const stateFor = (subject: SubjectKind, { policy, state }: Change): Change['state'] =>
  policy === null || isPolicyFor(subject, policy) ? state : null;

/** A time for which a set may have held. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** What ended it. */
  readonly endedBy: Change | null;
}

/** Deciders read the records in their order, so each set that they decide under is what stood after one of them. */
function spansOf(set: PolicySetOf<SubjectKind>, history: History): readonly Span[] {
  const wanted = statesOf(set, history);
  const comparison = compareKeys(set.subject, wanted, history);
  const spans: Span[] = [];
  let fromMs = Number.NEGATIVE_INFINITY;
  for (const [index, change] of history.changes.entries()) {
    const { record } = change;
    if (isAfterGap(history, index)) comparison.passGap(index);
    if (comparison.isSame()) spans.push({ fromMs, toMs: record.timestampMs, endedBy: change });
    comparison.pass(change);
    fromMs = record.timestampMs;
  }
  if (comparison.isSame()) spans.push({ fromMs, toMs: Number.POSITIVE_INFINITY, endedBy: null });
  return withoutForgotten(spans, [...wanted.keys()], history);
}

/** Follows under which keys something else stands than what is wanted; what is not known may be that. */
function compareKeys(
  subject: SubjectKind,
  wanted: ReadonlyMap<string, string>,
  { changes, last, deletes }: History,
) {
  // Before the first record of all nothing stood.
  const differing = new Set(changes[0]?.record.offset === 0n ? wanted.keys() : []);
  const seen = new Set<string>();
  /**
   * Whether records of a key may be missing there. Compaction takes the older ones of a key, so that between two that are left
   * there was no other; but what an archive has may have been left at different times.
   */
  const isUnknown = (key: string, index: number): boolean =>
    !seen.has(key) || (!deletes && (last.get(key) ?? index) >= index);
  return {
    isSame: (): boolean => differing.size === 0,
    passGap: (index: number): void => {
      for (const key of differing) if (isUnknown(key, index)) differing.delete(key);
    },
    pass: (change: Change): void => {
      const { key } = change;
      const state = stateFor(subject, change);
      seen.add(key);
      // Whether a key signed it as it has to be is not looked at here; without an approval less goes, so a set may lack one.
      const isLacked = isApprovalKey(key) && !wanted.has(key);
      if (isLacked || state === 'unknown' || state === (wanted.get(key) ?? null)) differing.delete(key);
      else differing.add(key);
    },
  };
}

function statesOf(
  { policies, pauses, approvals }: PolicySetOf<SubjectKind>,
  { changes }: History,
): ReadonlyMap<string, string> {
  const holders = new Map(changes.flatMap(({ key, hold }) => (hold === null ? [] : [[hold.id, key]])));
  return new Map([
    ...policies.map((record) => [policyKey(record), stateOf(record)] as const),
    ...pauses.map(
      (record) => [holders.get(record.id) ?? pauseKey(record.selector), stateOf(record)] as const,
    ),
    ...approvals.map((record) => [approvalKey(record), stateOf(record)] as const),
  ]);
}

const isAfterGap = ({ changes }: History, index: number): boolean => {
  const [before, now] = [changes[index - 1]?.record.offset, changes[index]?.record.offset];
  return before !== undefined && now !== before + 1n;
};

/** Of a key without any record nobody knows when it was deleted; but lately it was not. */
function withoutForgotten(
  spans: readonly Span[],
  keys: readonly string[],
  { last, deletes, nowMs }: History,
): readonly Span[] {
  if (!deletes || keys.every((key) => last.has(key))) return spans;
  const mostMs = nowMs - TOMBSTONES_KEPT_MS;
  return spans
    .filter(({ fromMs }) => fromMs <= mostMs)
    .map((span) => (span.toMs <= mostMs ? span : { ...span, toMs: mostMs, endedBy: null }));
}

/**
 * Deciders follow the topic all the time, and read it again every five minutes; then a record may wait for its broker.
 * @limit Time for which a decision by the previous policy is accepted. Keep it above `POLICY_RECHECK_MS`.
 */
const LAG_MS = SETTLED_MS;

const heldAt = (spans: readonly Span[], atMs: number): boolean =>
  spans.some(({ fromMs, toMs }) => fromMs - LAG_MS <= atMs && atMs <= toMs + LAG_MS);

/**
 * What was decided by when the topic began may be under policies of another topic of this name, which was deleted. It is told from
 * a forgery by the other topic of policies: deciders write there under what they are going to decide.
 */
function madeAnew(
  { hash }: PolicySetOf<SubjectKind>,
  atMs: number,
  { changes: [first], written }: History,
): NotInForce | null {
  if (first?.record.offset !== 0n || atMs > first.record.timestampMs + LAG_MS) return null;
  if (!written.mayBeWritten(hash, atMs + LAG_MS)) return null;
  return {
    kind: 'topic-recreated',
    message: `it was decided under policies of before ${TOPICS.policies.name} began at ${timeText(first.record.timestampMs)}: the topic was deleted and made anew, and what it held is gone with the old one`,
    places: [placeOf(first.record)],
  };
}

function notHeld(spans: readonly Span[], atMs: number, { changes }: History): NotInForce {
  const ended = spans.findLast(({ toMs }) => toMs < atMs);
  if (ended?.endedBy) return outdated(ended.endedBy);
  const later = spans.find(({ fromMs }) => fromMs > atMs);
  return {
    kind: 'policies-never-held',
    message: `it was decided under policies that ${TOPICS.policies.name} ${later ? `held only from ${timeText(later.fromMs)} on` : whyNever(changes)}`,
    places: [],
  };
}

const whyNever = ({ length }: readonly Change[]): string =>
  length === 0
    ? 'does not hold: it is empty. If it was just made anew, apply the policies, and verify again'
    : 'never held: it has no such record, nor one that deletes them';

const outdated = ({ key, state, record }: Change): NotInForce => ({
  kind: 'policies-outdated',
  message: `it was decided under policies that did not hold any more: ${changeWords({ key, stands: state !== null })} at ${timeText(record.timestampMs)}`,
  places: [placeOf(record)],
});

/** What a record of `gc.policies` changed there: `a pause began`. `stands`: whether it left anything under its key. */
function changeWords({ key, stands }: { readonly key: string; readonly stands: boolean }): string {
  const state = stateNamed(key);
  if (state === null) return `policy ${key} ${stands ? 'was changed' : 'was deleted'}`;
  return `${state} ${stands ? 'began' : 'ended'}`;
}

function stateNamed(key: string): string | null {
  if (isApprovalKey(key)) return 'an approval';
  return isPauseKey(key) ? 'a pause' : null;
}
