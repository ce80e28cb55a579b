import type { DatabaseSync } from 'node:sqlite';
import { compareText } from '../../../schemas/events/text-order.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { isApprovalKey } from '../../../schemas/policy/approval.ts';
import { isPauseKey, type PolicyTopicRecord, selectorOfPauseKey } from '../../../schemas/policy/policy.ts';
import type {
  DashboardHistory,
  HistoryEntry,
  HistoryKind,
} from '../../../schemas/reports/dashboard-history.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { objectionToStating } from '../../policy/may-state.ts';
import { selectorText } from '../../policy/selector-text.ts';
import { statedVersion } from '../../policy/version-records.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import type { KeyRing } from '../../records/trust/key-ring.ts';
import { readKeys } from '../../records/trust/read-keys.ts';
import { RequiredTrust, type Trust } from '../../records/trust/trust.ts';
import { approvalText } from '../cluster-holds/approve-held.ts';
import type { Before } from './before.ts';

/** More is in `fleetgc audit events`. */
const MOST_TOLD = 5_000;
/** For so long what was read is told again. */
const FRESH_MS = 5_000;
/** So long somebody may be at it. */
const UNFINISHED_AFTER_MS = 60_000;
const POLICY_SET = 'fleetgc.policy-set';

export interface HistoryNeeds {
  readonly db: DatabaseSync;
  readonly log: Pick<EventLog, 'read'>;
  readonly roots: TrustRoots | null;
  /** How far back. */
  readonly historyMs: number;
  /** Epoch milliseconds, by the clock of what is read. */
  readonly now: () => number;
}

export interface HistoryQuestion {
  readonly what: HistoryKind | null;
  readonly before: Before | null;
  readonly limit: number;
}

/** What people did: with policies, pauses and approvals as `gc.policy-versions` keeps it, and with dead letters. */
export class PeopleHistory {
  readonly #needs: HistoryNeeds;
  #read: { readonly atMs: number; readonly entries: readonly HistoryEntry[] } | null = null;

  constructor(needs: HistoryNeeds) {
    this.#needs = needs;
  }

  /** What was just done is read anew. */
  forget(): void {
    this.#read = null;
  }

  async read({ what, before, limit }: HistoryQuestion, signal: AbortSignal): Promise<DashboardHistory> {
    const { now, roots, historyMs } = this.#needs;
    const nowMs = now();
    const sinceMs = Math.max(0, nowMs - historyMs);
    if (this.#read === null || nowMs - this.#read.atMs > FRESH_MS)
      this.#read = { atMs: nowMs, entries: await readStated(this.#needs, { sinceMs, nowMs }, signal) };
    const found = [...this.#read.entries, ...readRedrives(this.#needs, sinceMs)]
      .filter(
        (entry) => (what === null || entry.what === what) && (before === null || isBefore(entry, before)),
      )
      .toSorted(newestFirst);
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    const isMore = found.length > entries.length && last !== undefined;
    return { entries, before: isMore ? `${last.atMs}:${last.id}` : null, isJudged: roots !== null };
  }
}

const newestFirst = (a: HistoryEntry, b: HistoryEntry): number => b.atMs - a.atMs || compareText(b.id, a.id);

const isBefore = ({ atMs, id }: HistoryEntry, before: Before): boolean =>
  atMs < before.atMs || (atMs === before.atMs && compareText(id, before.id) < 0);

interface StatedEntry {
  readonly entry: HistoryEntry;
  readonly key: string;
  readonly eventId: string;
}

async function readStated(
  { log, roots }: HistoryNeeds,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
  signal: AbortSignal,
): Promise<readonly HistoryEntry[]> {
  const judge = roots === null ? null : await judgeOf(log, roots, signal);
  const from = { timestampMs: sinceMs };
  const entries: StatedEntry[] = [];
  for await (const event of log.read({ topic: TOPICS.policyVersions.name, from, to: 'end' }, signal)) {
    if (event.kind !== 'record' || event.record.headers.ce_type === POLICY_SET) continue;
    const stated = statedVersion(event.record);
    if (stated !== null) {
      const { key, event: said } = stated;
      entries.push({ entry: entryOf(said, event.record, judge), key, eventId: said.id });
    }
    if (entries.length > 2 * MOST_TOLD) entries.splice(0, MOST_TOLD);
  }
  const held = await readHeldIds(log, signal);
  return withUnfinished(entries, held, nowMs - UNFINISHED_AFTER_MS).slice(-MOST_TOLD);
}

/** By their keys, the ids of what is in force; `null` of what nobody can read. */
async function readHeldIds(
  log: HistoryNeeds['log'],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | null>> {
  const held = new Map<string, string | null>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record' || event.record.key === null) continue;
    const parsed = parseRecord('policies', event.record);
    held.set(event.record.key, parsed.ok ? parsed.event.id : null);
  }
  return held;
}

/** Whoever does something writes it down first and then puts it in force. Of what was said last the second is missing where it was killed between. */
function withUnfinished(
  entries: readonly StatedEntry[],
  held: ReadonlyMap<string, string | null>,
  beforeMs: number,
): readonly HistoryEntry[] {
  const last = new Map(entries.map((each) => [each.key, each]));
  return entries.map((each) => {
    const isHeld = held.get(each.key) === null || held.get(each.key) === each.eventId;
    const isUnfinished = last.get(each.key) === each && !isHeld && each.entry.atMs < beforeMs;
    return { ...each.entry, isUnfinished };
  });
}

/** Whose signature counted when the log took a record. */
interface Judge {
  readonly ring: KeyRing;
  readonly trust: Trust;
}

async function judgeOf(log: HistoryNeeds['log'], roots: TrustRoots, signal: AbortSignal): Promise<Judge> {
  const { ring } = await readKeys(log, roots, signal);
  const trust = new RequiredTrust({
    ring: () => ring,
    problem: () => null,
    nowMs: () => 0,
    judges: 'as-recorded',
  });
  return { ring, trust };
}

function entryOf(event: PolicyTopicRecord, record: LogRecord, judge: Judge | null): HistoryEntry {
  return {
    id: `v${String(record.offset).padStart(20, '0')}`,
    atMs: record.timestampMs,
    ...saidBy(event),
    isUnfinished: false,
    ...(judge === null ? { signedBy: null, objection: null } : judged(event, record, judge)),
  };
}

function judged(
  event: PolicyTopicRecord,
  record: LogRecord,
  { ring, trust }: Judge,
): Pick<HistoryEntry, 'signedBy' | 'objection'> {
  const authentication = trust.authenticate('policyVersions', record);
  if (!authentication.ok) return { signedBy: null, objection: authentication.distrust.message };
  const { principal } = authentication;
  if (principal.kind !== 'key') return { signedBy: null, objection: null };
  const { keyId, role } = principal;
  const name = ring.find(keyId)?.name ?? '';
  return { signedBy: { keyId, role, name }, objection: objectionToStating(principal, event) };
}

type Said = Pick<HistoryEntry, 'what' | 'about' | 'by' | 'reason'>;

function saidBy(event: PolicyTopicRecord): Said {
  switch (event.type) {
    case 'fleetgc.pause':
      return said('paused', selectorText(event.selector), event);
    case 'fleetgc.approval':
      return said('approved', approvalText(event), event);
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy': {
      const { policy, policyVersion } = event;
      return said('policy-applied', `${policy.name}, version ${policyVersion}, ${policy.mode}`, {});
    }
    case 'fleetgc.policy-deletion':
      return said(...endOf(event.key), event);
  }
}

const said = (
  what: HistoryKind,
  about: string,
  { by, reason = '' }: { readonly by?: string | undefined; readonly reason?: string | undefined },
): Said => ({ what, about, by: by === undefined || by === '' ? null : by, reason });

function endOf(key: string): [HistoryKind, string] {
  if (isApprovalKey(key)) return ['withdrawn', key.slice(key.indexOf('['))];
  if (!isPauseKey(key)) return ['policy-deleted', key];
  const selector = selectorOfPauseKey(key);
  return ['resumed', selector === null ? key : selectorText(selector)];
}

const REDRIVES = `SELECT partition, offset, at_ms, letter, by_whom, reason FROM redrives WHERE at_ms >= ?
  ORDER BY at_ms DESC LIMIT ${MOST_TOLD}`;

/** Nobody signs the notes: who may write them is what Kafka's access rules say. */
const readRedrives = ({ db }: HistoryNeeds, sinceMs: number): readonly HistoryEntry[] =>
  db
    .prepare(REDRIVES)
    .all(sinceMs)
    .map(({ partition, offset, at_ms, letter, by_whom, reason }) => ({
      id: `d${partition}-${String(offset).padStart(20, '0')}`,
      atMs: Number(at_ms),
      what: 'put-back',
      about: String(letter),
      by: by_whom === null ? null : String(by_whom),
      reason: String(reason),
      isUnfinished: false,
      signedBy: null,
      objection: null,
    }));
