import { subjectOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { partitionName } from '../../log/partition.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { trustThen } from '../../records/read-heads.ts';
import type { TimeRange } from '../../records/read-log.ts';
import type { KeyRing } from '../../records/trust/key-ring.ts';
import { readKeys, type StoredKeys } from '../../records/trust/key-source.ts';
import type { FactsTrust } from '../../records/trust/process-trust.ts';
import { claimedSignature } from '../../records/trust/signature.ts';
import { type Distrust, isFact, type Principal, type Trust } from '../../records/trust/trust.ts';
import { placeOf } from '../events/log-position.ts';
import { objectionToRecord } from '../signed-events.ts';
import { createCollector, type Found, MOST_TOLD } from './findings.ts';

/** Who signed how much of what: the proof that remains when the key is long out of use. */
export interface SignedBy {
  readonly topic: string;
  readonly keyId: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly records: number;
}

interface VerifiedSignatures {
  readonly found: Found;
  /** By topic, and by the id of the key. */
  readonly signedBy: readonly SignedBy[];
  /** Where they are counted and no deviations. */
  readonly unprovedFacts: readonly UnprovedFacts[];
  readonly beforeSignatures: BeforeSignatures;
}

/**
 * Records that carry no signature and are older than anything that was ever signed here. Nothing proves who wrote them, and
 * nothing could.
 */
export interface BeforeSignatures {
  /** Epoch milliseconds; `null` where no statement about a key is there, or one may be missing: then no record counts as older. */
  readonly firstStatementMs: number | null;
  readonly byTopic: readonly { readonly topic: string; readonly records: number }[];
}

/** Facts that no key of their node proves. */
export interface UnprovedFacts {
  readonly topic: string;
  readonly cause: Distrust['cause'];
  readonly records: number;
}

const SIGNED = [
  'policies',
  'policyVersions',
  'observe',
  'commands',
  'clusterCommands',
  'heads',
] as const satisfies readonly TopicId[];
const FACTS = [
  'diskStats',
  'inventory',
  'results',
  'clusterOwnership',
  'clusterPods',
  'clusterExpiry',
  'clusterRemoved',
  'clusterResults',
  'clusterCensus',
  'latestFacts',
] as const satisfies readonly TopicId[];

interface Question {
  readonly roots: TrustRoots;
  readonly range: TimeRange;
  /** `required`: a fact that its node did not sign deviates. `warn`: it is counted. `off`: facts are not read for this. */
  readonly facts: FactsTrust;
}

/**
 * Whether keys signed what they had to sign, by what the roots say of them now, each record judged as of when the log
 * took it: a key that has ended since, or was revoked for what came later, proves what it signed before.
 */
export async function verifySignatures(
  log: LogReader,
  { roots, ...question }: Question,
  signal: AbortSignal,
): Promise<VerifiedSignatures> {
  const known = { readKeys: () => readKeys(log, roots, signal) };
  return await verifySignaturesWith(log, { ...known, ...question }, signal);
}

/** The same, by what is known of keys whenever it is asked. */
export async function verifySignaturesWith(
  log: LogReader,
  { range, facts, ...known }: Omit<Question, 'roots'> & { readonly readKeys: () => Promise<StoredKeys> },
  signal: AbortSignal,
): Promise<VerifiedSignatures> {
  let keys = await known.readKeys();
  const checked = new CheckedSignatures(keys, facts);
  const readAgain = async (): Promise<void> => {
    keys = await known.readKeys();
    checked.know(keys);
  };
  for (const topic of facts === 'off' ? SIGNED : [...SIGNED, ...FACTS])
    for await (const record of recordsOf(log, { topic, range, onSettled: readAgain }, signal))
      checked.take(topic, record, isWithin(record, range));
  for (const { offset, key, why } of keys.unreadable)
    checked.notTrusted(`gc.keys, offset ${offset} (key ${JSON.stringify(key)}): ${why}`, null, null);
  return checked.result();
}

interface Reading {
  readonly topic: TopicId;
  readonly range: TimeRange;
  /** Told before the first record, when it is settled where the reading ends: keys that are certified meanwhile are to be known. */
  readonly onSettled: () => Promise<void>;
}

async function* recordsOf(
  log: LogReader,
  { topic, range, onSettled }: Reading,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  // What was put back is older than what may lie before the range.
  const from = range.fromMs === null || topic === 'policies' ? 'earliest' : { timestampMs: range.fromMs };
  let isSettled = false;
  for await (const event of log.read({ topic: TOPICS[topic].name, from, to: 'end' }, signal)) {
    if (!isSettled) await onSettled();
    isSettled = true;
    if (event.kind === 'record' && isBefore(event.record, range)) yield event.record;
  }
}

const isBefore = ({ timestampMs }: LogRecord, { toMs }: TimeRange): boolean =>
  toMs === null || timestampMs < toMs;

const isWithin = ({ timestampMs }: LogRecord, { fromMs }: TimeRange): boolean =>
  fromMs === null || timestampMs >= fromMs;

class CheckedSignatures {
  #ring: KeyRing;
  #trust: Trust;
  readonly #collector = createCollector();
  readonly #signed = new Map<string, SignedBy>();
  readonly #unproved = new Map<string, UnprovedFacts>();
  readonly #facts: FactsTrust;
  /** Per topic and record key, the highest generation so far. */
  readonly #generations = new Map<string, number>();

  readonly #before = new UnsignedBefore();

  constructor({ ring, isWhole }: StoredKeys, facts: FactsTrust) {
    this.#ring = ring;
    this.#facts = facts;
    this.#trust = trustThen(ring);
    this.#before.know(isWhole ? ring.earliestStatementMs : null);
  }

  /** What is known of keys from here on. */
  know({ ring, isWhole }: StoredKeys): void {
    this.#ring = ring;
    this.#trust = trustThen(ring);
    this.#before.know(isWhole ? ring.earliestStatementMs : null);
  }

  /** `isTold`: it lies in the range. */
  take(topic: TopicId, record: LogRecord, isTold: boolean): void {
    const authentication = this.#trust.authenticate(topic, record);
    this.#before.see(record);
    if (!authentication.ok && isFact(topic) && this.#facts !== 'required') {
      if (isTold) this.#countUnproved(TOPICS[topic].name, authentication.distrust);
      return;
    }
    const node = subjectOf(TOPICS[topic], record.key)?.key ?? null;
    const problem = authentication.ok
      ? this.#problemOf(topic, record, authentication.principal)
      : authentication.distrust.message;
    if (!isTold) return;
    if (!authentication.ok && this.#before.take(topic, record, authentication.distrust)) return;
    if (problem !== null) this.notTrusted(problem, node, record);
    if (authentication.ok && authentication.principal.kind === 'key')
      this.#count(TOPICS[topic].name, authentication.principal.keyId);
  }

  #problemOf(topic: TopicId, record: LogRecord, principal: Principal): string | null {
    if (principal.kind !== 'key') return null;
    const objection = objectionToRecord(topic, record, principal);
    if (objection !== null || topic !== 'policies' || principal.generation === null) return objection;
    return this.#isPutBack(`${topic} ${record.key}`, principal.generation)
      ? 'it is older than what it replaced: somebody put an old record back'
      : null;
  }

  #isPutBack(place: string, generation: number): boolean {
    const highest = this.#generations.get(place) ?? 0;
    this.#generations.set(place, Math.max(generation, highest));
    return generation < highest;
  }

  notTrusted(message: string, node: string | null, record: LogRecord | null): void {
    const places = record === null ? [] : [placeOf(record)];
    this.#collector.deviation({ kind: 'not-trusted', message, node, places });
  }

  result(): VerifiedSignatures {
    for (const { message, node, record } of this.#before.notExcused()) this.notTrusted(message, node, record);
    const signedBy = [...this.#signed.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return {
      found: this.#collector.found(),
      signedBy: signedBy.map(([, signed]) => signed),
      unprovedFacts: [...this.#unproved.values()],
      beforeSignatures: this.#before.result(),
    };
  }

  #countUnproved(topic: string, { cause }: Distrust): void {
    const at = `${topic} ${cause}`;
    this.#unproved.set(at, { topic, cause, records: (this.#unproved.get(at)?.records ?? 0) + 1 });
  }

  #count(topic: string, keyId: string): void {
    const at = `${topic} ${keyId}`;
    const key = this.#ring.find(keyId);
    if (key === undefined) return;
    const { name, role } = key;
    const records = (this.#signed.get(at)?.records ?? 0) + 1;
    this.#signed.set(at, { topic, keyId, name, role, records });
  }
}

/** A head is nothing but its signature. */
const NEVER_UNSIGNED: ReadonlySet<TopicId> = new Set<TopicId>(['heads']);

interface Unsigned {
  readonly message: string;
  readonly node: string | null;
  readonly record: LogRecord;
}

/**
 * What may be from before there were signatures. Only what could not have been written later counts: the log dated it, it is older
 * than the first statement of a root, no record before it in its partition was signed, and no record of that time was either. Any
 * signature counts against it, also one that proves nothing: who had none to expect had none to imitate.
 */
class UnsignedBefore {
  #firstStatementMs: number | null = null;
  /** A signature is older than the first statement that is left: how long there were signatures is not known. */
  #isContradicted = false;
  readonly #signedPartitions = new Set<string>();
  readonly #byTopic = new Map<string, number>();
  /** The first of them, as they deviate where nothing is excused. */
  readonly #first: Unsigned[] = [];

  know(firstStatementMs: number | null): void {
    const isEarlier = firstStatementMs === null || firstStatementMs < (this.#firstStatementMs ?? 0);
    if (isEarlier && this.#byTopic.size > 0) this.#isContradicted = true;
    this.#firstStatementMs = firstStatementMs;
  }

  /** Every record that is read, whoever wrote it. */
  see(record: LogRecord): void {
    if (claimedSignature(record.headers).kind === 'none') return;
    this.#signedPartitions.add(partitionName(record));
    if (this.#isBefore(record)) this.#isContradicted = true;
  }

  /** Whether the record is from before there were signatures, as far as is known until now. */
  take(topic: TopicId, record: LogRecord, { reason, message }: Distrust): boolean {
    if (reason !== 'unsigned' || NEVER_UNSIGNED.has(topic) || record.isDatedByWriter) return false;
    if (!this.#isBefore(record) || this.#signedPartitions.has(partitionName(record))) return false;
    const { name } = TOPICS[topic];
    this.#byTopic.set(name, (this.#byTopic.get(name) ?? 0) + 1);
    const node = subjectOf(TOPICS[topic], record.key)?.key ?? null;
    if (this.#first.length < MOST_TOLD) this.#first.push({ message, node, record });
    return true;
  }

  /** Told after the last record: what is excused no more. Of those that are not remembered only the number is right. */
  *notExcused(): Generator<Unsigned> {
    if (!this.#isContradicted) return;
    const total = [...this.#byTopic.values()].reduce((sum, records) => sum + records, 0);
    for (let index = 0; index < total; index++) {
      const one = this.#first[index] ?? this.#first.at(-1);
      if (one !== undefined) yield one;
    }
  }

  result(): BeforeSignatures {
    if (this.#isContradicted) return { firstStatementMs: null, byTopic: [] };
    const byTopic = [...this.#byTopic].map(([topic, records]) => ({ topic, records }));
    return { firstStatementMs: this.#firstStatementMs, byTopic };
  }

  #isBefore({ timestampMs }: LogRecord): boolean {
    return this.#firstStatementMs !== null && timestampMs < this.#firstStatementMs;
  }
}
