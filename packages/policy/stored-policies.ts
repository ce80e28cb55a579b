import type { SubjectKind } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { type ApprovalRecord, isApprovalKey } from '../../schemas/policy/approval.ts';
import {
  isPauseKey,
  keyOfPolicyNamed,
  type PauseRecord,
  type PolicyRecordOf,
} from '../../schemas/policy/policy.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import { readKeys } from '../records/trust/key-source.ts';
import { SeenGenerations } from '../records/trust/seen-generations.ts';
import { claimedSignature } from '../records/trust/signature.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../records/trust/trust.ts';
import { nearestName } from '../text/nearest-name.ts';
import { createPolicyReading, type PolicyEntry, type PolicySets, setsOfEntries } from './policy-reading.ts';
import { believedGenerations } from './seen-versions.ts';

/** A record of `gc.policies` that no decider can read: while it stands, no node that it may select gets a command. */
export interface UnreadableRecord {
  readonly key: string;
  readonly message: string;
  /** The pause that it amounts to; `null` where it may select any node. */
  readonly hold: PauseRecord | null;
}

interface Dated {
  /** Epoch milliseconds, by the log's clock. */
  readonly appliedAtMs: number;
}
export type StoredPolicy = PolicyRecordOf<SubjectKind> & Dated;
export type StoredPause = PauseRecord & Dated;
export type StoredApproval = ApprovalRecord & Dated;

/** What `gc.policies` holds: the last record of each key. */
export interface StoredPolicies {
  /** By record key. */
  readonly policies: ReadonlyMap<string, StoredPolicy>;
  /** By record key. */
  readonly pauses: ReadonlyMap<string, StoredPause>;
  /** By record key; those that have ended among them. */
  readonly approvals: ReadonlyMap<string, StoredApproval>;
  readonly unreadable: readonly UnreadableRecord[];
  /** Records where only approvals can stand: they approve nothing. */
  readonly unreadableApprovals: readonly Pick<UnreadableRecord, 'key' | 'message'>[];
  /** Keys under which the topic still says that nothing stands: who follows it has let go of what stood there. */
  readonly deleted: ReadonlySet<string>;
  /** Keys that were there and are not, without having been deleted; known only where signatures are looked at. */
  readonly lost: readonly string[];
  /** As they lie there: the last one of each key. */
  readonly records: ReadonlyMap<string, LogRecord>;
  /** By record key, the highest that was believed here or of a version; of lower ones nothing counts. None where no signatures count. */
  readonly generations: ReadonlyMap<string, number>;
  /** What deciders make of it, as far as they can. */
  readonly sets: PolicySets;
  readonly signatures: SignatureReading;
}

/**
 * What was found of signatures. `judged`: by the roots; what does not count is among the unreadable records. `unjudged`: without
 * roots, so that nothing is verified and all is shown as if it counted.
 */
export type SignatureReading =
  | { readonly kind: 'judged' }
  | {
      readonly kind: 'unjudged';
      /** Keys of the last records that claim a signature, true or not. */
      readonly signed: readonly string[];
      /** Keys of those that claim none. */
      readonly unsigned: readonly string[];
      /** Whether somebody of this fleet has a key to sign with: a record is signed, or `gc.keys` holds a statement. */
      readonly isFleetSigned: boolean;
    };

/** Reads the topic to its end, without a group, and takes its records as the deciders do where no signatures count. */
export async function readStoredPolicies(log: LogReader, signal: AbortSignal): Promise<StoredPolicies> {
  const stored = await readJudgedPolicies(log, { trust: TRUST_OFF, seen: new SeenGenerations() }, signal);
  return { ...stored, signatures: await unjudgedSignatures(stored.records, log, signal) };
}

async function unjudgedSignatures(
  records: StoredPolicies['records'],
  log: LogReader,
  signal: AbortSignal,
): Promise<SignatureReading> {
  const { signed = [], unsigned = [] } = Object.groupBy([...records.keys()], (key) =>
    claimedSignature(records.get(key)?.headers ?? {}).kind === 'none' ? 'unsigned' : 'signed',
  );
  const isFleetSigned = signed.length > 0 || (unsigned.length > 0 && (await hasStatements(log, signal)));
  return { kind: 'unjudged', signed, unsigned, isFleetSigned };
}

/** A log without the topic has no keys, and a login without the right to read it learns nothing of them. */
async function hasStatements(log: LogReader, signal: AbortSignal): Promise<boolean> {
  try {
    for await (const event of log.read({ topic: TOPICS.keys.name, from: 'earliest', to: 'end' }, signal))
      if (event.kind === 'record' && claimedSignature(event.record.headers).kind === 'claimed') return true;
    return false;
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.code === 'LOG_UNAUTHORIZED' || error.code === 'TOPICS_MISSING') return false;
    throw error;
  }
}

interface Judging {
  readonly trust: Trust;
  readonly seen: SeenGenerations;
}

/** The same where they count: policies are judged by the event log's clock, and not by ours. */
async function readCountedPolicies(
  log: LogReader,
  roots: TrustRoots,
  signal: AbortSignal,
): Promise<StoredPolicies> {
  const { ring } = await readKeys(log, roots, signal);
  const trust = new RequiredTrust({
    ring: () => ring,
    problem: () => null,
    nowMs: () => 0,
    judges: 'as-recorded',
  });
  const seen = new SeenGenerations();
  seen.saw('policies', await believedGenerations(log, { trust, onRefused: () => undefined }, signal));
  return { ...(await readJudgedPolicies(log, { trust, seen }, signal)), signatures: { kind: 'judged' } };
}

/** Which of both, by whether somebody named roots. */
export const readPoliciesBy = (
  roots: TrustRoots | null,
  log: LogReader,
  signal: AbortSignal,
): Promise<StoredPolicies> =>
  roots === null ? readStoredPolicies(log, signal) : readCountedPolicies(log, roots, signal);

async function readJudgedPolicies(
  log: LogReader,
  { trust, seen }: Judging,
  signal: AbortSignal,
): Promise<Omit<StoredPolicies, 'signatures'>> {
  const reading = createPolicyReading(trust, seen);
  const records = new Map<string, LogRecord>();
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    reading.add(event.record);
    records.set(event.record.key ?? '', event.record);
  }
  const lost = seen.keys('policies').filter((key) => !reading.hasSeen(key));
  const generations = new Map(
    [...records.keys()].map((key) => [
      key,
      Math.max(seen.of('policies', key), reading.generations.get(key) ?? 0),
    ]),
  );
  return { ...sortOut(reading.entries, records), lost, records, generations };
}

/** `records` has every key of which there is one, also one that deletes it. */
function sortOut(
  entries: ReadonlyMap<string, PolicyEntry>,
  records: ReadonlyMap<string, LogRecord>,
): Omit<StoredPolicies, 'lost' | 'records' | 'generations' | 'signatures'> {
  const deleted = new Set([...records.keys()].filter((key) => !entries.has(key)));
  const sorted = [...entries].toSorted(([a], [b]) => compareText(a, b));
  const dated = (key: string): Dated => ({ appliedAtMs: records.get(key)?.timestampMs ?? 0 });
  const unreadable: UnreadableRecord[] = [];
  const unreadableApprovals: Pick<UnreadableRecord, 'key' | 'message'>[] = [];
  for (const [key, entry] of sorted) {
    if (entry.kind === 'unreadable') unreadable.push({ key, message: entry.problem, hold: entry.hold });
    if (entry.kind === 'unreadable-approval') unreadableApprovals.push({ key, message: entry.problem });
  }
  return {
    policies: new Map(
      sorted.flatMap(([key, entry]) =>
        entry.kind === 'policy' ? [[key, { ...entry.record, ...dated(key) }]] : [],
      ),
    ),
    pauses: new Map(
      sorted.flatMap(([key, entry]) =>
        entry.kind === 'pause' ? [[key, { ...entry.record, ...dated(key) }]] : [],
      ),
    ),
    approvals: new Map(
      sorted.flatMap(([key, entry]) =>
        entry.kind === 'approval' ? [[key, { ...entry.record, ...dated(key) }]] : [],
      ),
    ),
    unreadable,
    unreadableApprovals,
    deleted,
    sets: setsOfEntries(entries.values()),
  };
}

/** The policy of that name. Throws `NOT_FOUND`, with the name that was probably meant. */
export function requireStored(stored: StoredPolicies, name: string): StoredPolicy {
  const policy = stored.policies.get(name);
  if (policy) return policy;
  const unreadable = stored.unreadable.find(({ key }) => key === name);
  if (unreadable) throw new FleetGcError('POLICIES_UNREADABLE', unreadable.message);
  throw notFound(stored, [name]);
}

/** What `fleetgc policy delete` was asked to delete, by record keys. */
export type Deletion = { readonly kind: 'stored'; readonly keys: readonly string[] } | NotStored;

/** Some of it is not there, so none of what is there goes. */
export interface NotStored {
  readonly kind: 'not-stored';
  /** What the topic says nothing of: who followed another topic of this name may remember it. */
  readonly notStored: readonly string[];
  readonly error: FleetGcError;
}

/** The policies to delete, readable or not. */
export function deletionOf(stored: StoredPolicies, names: readonly string[]): Deletion {
  const unreadable = [...stored.unreadable, ...stored.unreadableApprovals].map(({ key }) => key);
  const keys = new Set([...stored.policies.keys(), ...unreadable]);
  const missing = names.filter((name) => !keys.has(name));
  if (missing.length === 0) return { kind: 'stored', keys: [...new Set(names)] };
  return {
    kind: 'not-stored',
    // Pauses and approvals are ended by their own verbs alone.
    notStored: [...new Set(missing)].filter(
      (name) => !isPauseKey(name) && !isApprovalKey(name) && !stored.deleted.has(name),
    ),
    error: notFound(stored, missing),
  };
}

function notFound({ policies }: StoredPolicies, names: readonly string[]): FleetGcError {
  const [only = '', ...more] = names;
  if (more.length > 0)
    return new FleetGcError('NOT_FOUND', `there are no policies named ${names.join(', ')}`);
  const ofClusters = keyOfPolicyNamed('cluster', only);
  const meant = policies.has(ofClusters) ? ofClusters : nearestName(only, policies.keys());
  return new FleetGcError(
    'NOT_FOUND',
    `there is no policy named ${only}; ${meant === undefined ? 'fleetgc policy list lists them' : `did you mean ${meant}?`}`,
  );
}
