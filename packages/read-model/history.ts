import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { z } from 'zod';
import { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { isApprovalKey } from '../../schemas/policy/approval.ts';
import { isPauseKey, type PolicyTopicRecord, selectorOfPauseKey } from '../../schemas/policy/policy.ts';
import { ClustersReport } from '../../schemas/reports/clusters-report.ts';
import {
  Activity,
  type ActivityKind,
  type DashboardActivity,
  type DashboardFreed,
} from '../../schemas/reports/dashboard.ts';
import type { DashboardClusterOutcomes } from '../../schemas/reports/dashboard-clusters.ts';
import type { DashboardHistory, HistoryEntry, HistoryKind } from '../../schemas/reports/dashboard-history.ts';
import { ruleWords } from '../deciders/rule-words.ts';
import { removedBecause } from '../decision/rule-text.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { objectionToStating } from '../policy/may-state.ts';
import { statedVersion } from '../policy/seen-versions.ts';
import { selectorText } from '../policy/selector-text.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { trustThen } from '../records/read-heads.ts';
import type { KeyRing } from '../records/trust/key-ring.ts';
import { readKeys } from '../records/trust/key-source.ts';
import type { Trust } from '../records/trust/trust.ts';
import { COLLECTOR_OF_DECIDER, DECIDER_OF_ACTION, removedRows } from './cluster-report.ts';
import { approvalText } from './holds.ts';
import { namesOfObject } from './names.ts';
import type { ActivityRow } from './rows.ts';
import { bigSum, bigSumOf } from './tables.ts';

/** More is in `fleetgc audit events`. */
const MOST_TOLD = 5_000;
/** For so long what was read is told again. */
const FRESH_MS = 5_000;
/** So long somebody may be at it. */
const UNFINISHED_AFTER_MS = 60_000;
const POLICY_SET = 'fleetgc.policy-set';

/** Where to go on: what was told last. */
export interface Before {
  readonly atMs: number;
  readonly id: string;
}

interface HistoryNeeds {
  readonly db: DatabaseSync;
  readonly log: LogReader;
  readonly roots: TrustRoots | null;
  /** How far back. */
  readonly historyMs: number;
  /** Epoch milliseconds, by the clock of what is read. */
  readonly now: () => number;
}

interface HistoryQuestion {
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
  return { ring, trust: trustThen(ring) };
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

interface ActivityQuestion {
  readonly node: string | null;
  readonly what: ActivityKind | null;
  readonly before: Before | null;
  readonly limit: number;
}

/** What was decided and done, the newest first. */
export function readActivity(
  db: DatabaseSync,
  { node, what, before, limit }: ActivityQuestion,
): DashboardActivity {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  const also = (condition: string, ...given: SQLInputValue[]): void => {
    conditions.push(condition);
    values.push(...given);
  };
  if (node !== null) also('node = ?', node);
  if (what !== null) also('what = ?', what);
  if (before !== null) also('(at_ms, id) < (?, ?)', before.atMs, before.id);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = db
    .prepare(
      `SELECT id, at_ms AS atMs, node, what, text, rule, kind, object FROM activity ${where} ORDER BY at_ms DESC, id DESC LIMIT ?`,
    )
    .all(...values, limit);
  const activity = rows.map((row) => withName(db, row));
  const last = activity.at(-1);
  const isMore = activity.length === limit && last !== undefined;
  return { activity, before: isMore ? `${last.atMs}:${last.id}` : null };
}

/** A line as it is told. */
export const toldActivity = (db: DatabaseSync, { table: _table, ...row }: ActivityRow): Activity =>
  withName(db, row);

interface StoredLine {
  readonly kind?: unknown;
  readonly object?: unknown;
  readonly rule?: unknown;
}

function withName(db: DatabaseSync, row: StoredLine): Activity {
  const [name = null] =
    row.kind === 'image' && typeof row.object === 'string' ? namesOfObject(db, 'image', row.object, 1) : [];
  return Activity.parse({
    ...row,
    because: typeof row.rule === 'string' ? removedBecause(row.rule) : null,
    name,
  });
}

/** A time by the log's clock; without `toMs` up to the newest. */
interface FreedRange {
  readonly fromMs: number;
  readonly toMs: number | null;
}

type FreedSums = Pick<DashboardFreed, 'objects' | 'freedBytes' | 'unmeasured' | 'estimatedBytes'>;

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

const totalOf = (sums: readonly FreedSums[]): FreedSums => ({
  objects: sums.reduce((sum, { objects }) => sum + objects, 0),
  freedBytes: String(sums.reduce((sum, { freedBytes }) => sum + BigInt(freedBytes), 0n)),
  unmeasured: sums.reduce((sum, { unmeasured }) => sum + unmeasured, 0),
  estimatedBytes: String(sums.reduce((sum, { estimatedBytes }) => sum + BigInt(estimatedBytes), 0n)),
});

const { action, result } = ClusterObjectResults.shape.objects.element.shape;
const outcomes = z.enum(result.options.map((option) => option.shape.outcome.value));
const sum = {
  kind: z.string(),
  action,
  rule: z.string(),
  ownRule: z.string().nullable(),
  objects: z.number(),
};
const { refused, failed } = ClustersReport.shape;

/** Results of one kind together. */
const Summed = z.discriminatedUnion('outcome', [
  z.object({ ...sum, outcome: outcomes.extract(['refused']), reason: refused.element.shape.reason }),
  z.object({ ...sum, outcome: outcomes.extract(['failed']), reason: failed.element.shape.reason }),
  z.object({ ...sum, outcome: outcomes.exclude(['refused', 'failed']) }),
]);
type Summed = z.infer<typeof Summed>;

const CLUSTER_SUMS = `SELECT kind, action, rule, own_rule AS ownRule, outcome, reason, sum(objects) AS objects
  FROM cluster_outcomes WHERE cluster = ? AND at_ms >= ? AND at_ms < ?
  GROUP BY kind, action, rule, own_rule, outcome, reason ORDER BY objects DESC, kind, rule, action`;

/** What came of objects of a cluster in that time, as the report of `fleetgc audit report` has it. */
export function readClusterOutcomes(
  db: DatabaseSync,
  cluster: string,
  { fromMs, toMs }: FreedRange,
  knownSinceMs: number | null,
): DashboardClusterOutcomes {
  const sums = db
    .prepare(CLUSTER_SUMS)
    .all(cluster, fromMs, toMs ?? Number.MAX_SAFE_INTEGER)
    .map((row) => Summed.parse(row));
  const countOf = (outcome: Summed['outcome']): number =>
    sums.reduce((count, each) => count + (each.outcome === outcome ? each.objects : 0), 0);
  return {
    fromMs,
    toMs,
    knownSinceMs,
    removed: removedOf(cluster, sums),
    changed: sums
      .filter(({ outcome }) => outcome === 'patched')
      .map((each) => ({ ...byRule(cluster, each), action: each.action, objects: each.objects })),
    goneAlready: countOf('not-found'),
    rehearsed: countOf('rehearsed'),
    refused: sums.flatMap((each) =>
      each.outcome === 'refused'
        ? [{ cluster, kind: each.kind, reason: each.reason, objects: each.objects }]
        : [],
    ),
    failed: sums.flatMap((each) =>
      each.outcome === 'failed'
        ? [{ cluster, kind: each.kind, reason: each.reason, objects: each.objects }]
        : [],
    ),
  };
}

/** Those that finalizers held count too, beside those that went at once. */
const removedOf = (cluster: string, sums: readonly Summed[]): DashboardClusterOutcomes['removed'] =>
  removedRows(
    sums
      .filter(({ outcome }) => outcome === 'removed' || outcome === 'accepted')
      .map((each) => ({
        row: { ...byRule(cluster, each), ownRule: each.ownRule },
        objects: each.objects,
        waits: each.outcome === 'accepted',
      })),
  );

const byRule = (cluster: string, { kind, action: done, rule }: Summed) => ({
  cluster,
  kind,
  collector: COLLECTOR_OF_DECIDER[DECIDER_OF_ACTION[done]](rule),
  rule,
  because: ruleWords({ rule, action: done }),
});
