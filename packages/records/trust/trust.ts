import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { subjectKindOf, subjectOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { KeyId, KeyRevocation, KeyRole } from '../../../schemas/keys/key-statement.ts';
import type { Headers, LogRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import { printableLine } from '../../text/printable.ts';
import { timeText } from '../../text/time-text.ts';
import { type CertifiedKey, type KeyRing, keyText } from './key-ring.ts';
import { claimedSignature, isOfTheFuture, isSignedBy, type Signature } from './signature.ts';

/** Who published a message, as far as it proves it. */
export type Principal =
  | { readonly kind: 'unauthenticated' }
  | {
      readonly kind: 'key';
      readonly keyId: KeyId;
      readonly role: KeyRole;
      readonly clusters: readonly string[];
      /** Of what is not to be put back to an older state. */
      readonly generation: number | null;
    };

export const NOBODY_PROVED: Principal = { kind: 'unauthenticated' };

export type Authentication =
  | { readonly ok: true; readonly principal: Principal }
  | { readonly ok: false; readonly distrust: Distrust };

/** What a record is judged by. */
export type Judged = Pick<
  LogRecord,
  'topic' | 'key' | 'value' | 'headers' | 'timestampMs' | 'isDatedByWriter'
>;

/** What every record passes before it is parsed. All throw `KEYS_UNREADABLE` while nobody can tell whose signature counts. */
export interface Trust {
  authenticate(topic: TopicId, record: Judged): Authentication;
  /** What headers alone tell against a record, before anybody looks into it for its key; `null` where that is nothing. */
  objectionToHeaders(topic: TopicId, headers: LogRecord['headers']): Distrust | null;
  /**
   * Whether an order that this key signed (`null`: none did) still counts some time after it came; why not, in a sentence.
   */
  objectionTo(topic: TopicId, keyId: KeyId | null, recordKey: string): string | null;
}

/** Whoever can write to the log is believed: Kafka's access rules alone say who that is. */
export const TRUST_OFF: Trust = {
  authenticate: () => ({ ok: true, principal: NOBODY_PROVED }),
  objectionToHeaders: () => null,
  objectionTo: () => null,
};

interface Needed {
  readonly roles: readonly KeyRole[];
  /**
   * `now`: of a key that is good at this moment, since an order is about this moment. `then`: of a key that was good when the
   * log took the record, since what was put into force stays so after the key has expired, and a fact stays true.
   */
  readonly good: 'now' | 'then';
  /** What stays in force may not be put back to an older state. `optional`: where there is one it has to be possible. */
  readonly generation: 'needed' | 'optional' | 'none';
}

/** Whose signature a record needs, by topic. */
type Signers = Needed | 'unsigned';

const ORDER = { roles: ['decider'], good: 'now', generation: 'none' } as const;
const FACT = { roles: ['node'], good: 'then', generation: 'none' } as const;
/** Which of them may say what: `packages/policy/may-state.ts`. */
const STATERS = [
  'operator',
  'pauser',
  'dashboard',
  'policy-controller',
] as const satisfies readonly KeyRole[];
const CLUSTER_FACT = { roles: ['cluster'], good: 'then', generation: 'none' } as const;

/** Where facts lie. Which agent may say it follows from the record key: `objectionToRole`. */
const POSITION = { roles: ['node', 'cluster'], good: 'then', generation: 'none' } as const;

const SIGNERS: Readonly<Record<TopicId, Signers>> = {
  diskStats: FACT,
  inventory: FACT,
  observe: ORDER,
  commands: ORDER,
  results: FACT,
  decisions: 'unsigned',
  clusterOwnership: CLUSTER_FACT,
  clusterPods: CLUSTER_FACT,
  clusterExpiry: CLUSTER_FACT,
  clusterCommands: ORDER,
  clusterRemoved: CLUSTER_FACT,
  clusterResults: CLUSTER_FACT,
  clusterDecisions: 'unsigned',
  clusterCensus: CLUSTER_FACT,
  policies: { roles: STATERS, good: 'then', generation: 'needed' },
  // Which sets of policies there were is told by deciders, what the policies were and of which generation by who wrote them.
  policyVersions: { roles: [...STATERS, 'decider'], good: 'then', generation: 'optional' },
  keys: { roles: ['root'], good: 'then', generation: 'needed' },
  heads: { roles: ['archiver', 'decider'], good: 'then', generation: 'none' },
  latestFacts: POSITION,
  deadLetters: 'unsigned',
};

/** What nodes and clusters say of themselves, and where it lies; whether it needs a signature is a choice of its own. */
export const isFact = (topic: TopicId): boolean =>
  SIGNERS[topic] === FACT || SIGNERS[topic] === CLUSTER_FACT || SIGNERS[topic] === POSITION;

const needsSignature = (topic: TopicId): boolean => SIGNERS[topic] !== 'unsigned';

/** Whether what a key of this role sends to the topic is to be signed. */
export function signs(role: KeyRole, topic: TopicId): boolean {
  const signers = SIGNERS[topic];
  return signers !== 'unsigned' && signers.roles.includes(role);
}

/** Whether whoever has this role only tells what it sees: nobody may ask who signed that. */
export const signsFactsAlone = (role: KeyRole): boolean =>
  Object.keys(SIGNERS)
    .filter(isTopicId)
    .every((topic) => !signs(role, topic) || isFact(topic));

const isTopicId = (id: string): id is TopicId => id in TOPICS;
/** The names of the topics whose records need one. */
export const SIGNED_TOPICS: readonly string[] = Object.keys(TOPICS)
  .filter(isTopicId)
  .filter(needsSignature)
  .map((id) => TOPICS[id].name);

interface TrustSettings {
  readonly ring: () => KeyRing;
  /** Why what the ring says may not be all, in a sentence; `null` when it is. */
  readonly problem: () => string | null;
  /** Epoch milliseconds; never earlier than a time that was proved before. */
  readonly nowMs: () => number;
  /** Told of each record that is believed and that the log has dated, and the generation that its signer gave it. */
  readonly onBelieved?: (record: Pick<Judged, 'timestampMs'>, generation: number | null) => void;
  /** `as-recorded`: for whoever asks later what counted when the log took it. When not given, what counts now. */
  readonly judges?: 'as-recorded';
}

/** Believes what the roots' statements allow. */
export class RequiredTrust implements Trust {
  readonly #settings: TrustSettings;

  constructor(settings: TrustSettings) {
    this.#settings = settings;
  }

  authenticate(topic: TopicId, record: Judged): Authentication {
    const signers = SIGNERS[topic];
    if (signers === 'unsigned') return { ok: true, principal: NOBODY_PROVED };
    const claim = claimIn(record.headers, () => this.#ring());
    if ('distrust' in claim) return { ok: false, distrust: claim.distrust };
    const { signature, key, ring } = claim;
    const objection =
      this.#objection(key, signers, record.timestampMs) ??
      this.#objectionToUndated(key, signers, record) ??
      notAllowed(objectionToGeneration(signature, signers, this.#takenAtMs(record))) ??
      notAllowed(objectionToRole(topic, key, record.key) ?? objectionToSubject(topic, key, record.key));
    if (objection !== null) return distrust(objection.reason, `its key ${keyText(key)} ${objection.text}`);
    if (!isSignedBy(key.publicKey, ring.fleet, record, signature))
      return distrust('changed', `its signature is not that of ${keyText(key)} over this record`);
    if (!record.isDatedByWriter) this.#settings.onBelieved?.(record, signature.generation);
    const { keyId, role, clusters } = key;
    return { ok: true, principal: { kind: 'key', keyId, role, clusters, generation: signature.generation } };
  }

  objectionToHeaders(topic: TopicId, headers: LogRecord['headers']): Distrust | null {
    if (SIGNERS[topic] === 'unsigned') return null;
    const claim = claimIn(headers, () => this.#ring());
    return 'distrust' in claim ? claim.distrust : null;
  }

  objectionTo(topic: TopicId, keyId: KeyId | null, recordKey: string): string | null {
    const signers = SIGNERS[topic];
    if (signers === 'unsigned') return null;
    if (keyId === null) return 'it carries no signature';
    const key = this.#ring().find(keyId);
    if (key === undefined) return `no root vouches for its key ${keyId}`;
    const objection =
      this.#objection(key, signers, this.#settings.nowMs()) ??
      notAllowed(objectionToSubject(topic, key, recordKey));
    return objection && `its key ${keyText(key)} ${objection.text}`;
  }

  #ring(): KeyRing {
    const problem = this.#settings.problem();
    if (problem !== null) throw new FleetGcError('KEYS_UNREADABLE', problem);
    return this.#settings.ring();
  }

  /** Told before the signature is verified, which costs a thousand times as much. */
  #objection(
    { role, notAfterMs, revocation }: CertifiedKey,
    { roles, good }: Needed,
    takenAtMs: number,
  ): Objection | null {
    if (!roles.includes(role)) return notAllowed(`is that of a ${role}, who may not sign this`);
    const isAboutNow = good === 'now' && this.#settings.judges !== 'as-recorded';
    if (revocation !== null && (isAboutNow || takenAtMs >= revocation.untrustedFromMs))
      return revokedObjection(revocation);
    if ((isAboutNow ? this.#settings.nowMs() : takenAtMs) >= notAfterMs)
      return { reason: 'expired', text: `has expired at ${timeText(notAfterMs)}` };
    return null;
  }

  /** Whoever has a stolen key would date back what he signs: so the key has to be good now. */
  #objectionToUndated(key: CertifiedKey, needed: Needed, record: Judged): Objection | null {
    if (!record.isDatedByWriter || needed.good === 'now') return null;
    const { revocation } = key;
    const objection =
      revocation === null
        ? this.#objection(key, needed, this.#takenAtMs(record))
        : revokedObjection(revocation);
    return (
      objection && {
        ...objection,
        text: `${objection.text}, and the event log does not say when it took this: give ${record.topic} message.timestamp.type=LogAppendTime, and write it again`,
      }
    );
  }

  /** What was recorded is judged by the time that it has: keys of long ago have ended. */
  #takenAtMs({ isDatedByWriter, timestampMs }: Judged): number {
    const { judges, nowMs } = this.#settings;
    return isDatedByWriter && judges !== 'as-recorded' ? nowMs() : timestampMs;
  }
}

const distrust = (reason: DistrustReason, message: string): Authentication => ({
  ok: false,
  distrust: distrustOf(reason, message),
});

function objectionToGeneration(
  { generation }: Signature,
  { generation: needed }: Needed,
  takenAtMs: number,
): string | null {
  if (needed === 'none') return null;
  if (generation === null) return needed === 'optional' ? null : 'signed it without a generation';
  return isOfTheFuture(generation, { timestampMs: takenAtMs })
    ? 'signed it with a generation that is a day ahead'
    : null;
}

/** Whose signature a record claims to have, where it may count. */
type Claim =
  | { readonly signature: Signature; readonly key: CertifiedKey; readonly ring: KeyRing }
  | { readonly distrust: Distrust };

/** By the headers alone; nothing is verified yet. `ring` is asked only where there is a signature. Throws as it does. */
function claimIn(headers: Headers, ring: () => KeyRing): Claim {
  const claimed = claimedSignature(headers);
  if (claimed.kind === 'none') return { distrust: distrustOf('unsigned', 'it carries no signature') };
  if (claimed.kind === 'malformed')
    return { distrust: distrustOf('malformed', 'its signature is malformed') };
  const { signature } = claimed;
  const known = ring();
  const key = known.find(signature.keyId);
  return key === undefined
    ? { distrust: distrustOf('stranger', `no root vouches for its key ${signature.keyId}`) }
    : { signature, key, ring: known };
}

/** Where the facts of nodes lie, nodes alone say, and clusters of theirs. */
function objectionToRole(topic: TopicId, { role }: CertifiedKey, recordKey: string | null): string | null {
  if (topic !== 'latestFacts' || subjectOf(TOPICS[topic], recordKey)?.kind === role) return null;
  return `is that of a ${role}, who may not sign this`;
}

const isAboutSubjects = (topic: TopicId): boolean =>
  topic === 'latestFacts' || subjectKindOf(TOPICS[topic]) !== null;

/**
 * Why a key may not speak for the subject of a record, in a few words. For whom it speaks is in the record's key; whom a
 * policy selects is told where policies are read.
 */
export function objectionToSubject(
  topic: TopicId,
  { clusters, nodes }: Pick<CertifiedKey, 'clusters' | 'nodes'>,
  recordKey: string | null,
): string | null {
  if (clusters.length === 0 || !isAboutSubjects(topic)) return null;
  const subject = subjectOf(TOPICS[topic], recordKey);
  const cluster = subject && SUBJECTS[subject.kind].clusterOf(subject.key);
  if (subject === null || cluster === null || !clusters.includes(cluster))
    return `is for the clusters ${clusters.join(', ')} alone`;
  return nodes.length === 0 || nodes.includes(subject.key.slice(cluster.length + 1))
    ? null
    : `is for the nodes ${nodes.join(', ')} alone`;
}

export const DISTRUST_CAUSES = ['unsigned', 'bad-signature', 'untrusted-key'] as const;

/** What may be wrong, and the cause that a dead letter tells of it. `changed`: the signature is not over these bytes. */
const CAUSE_OF = {
  unsigned: 'unsigned',
  malformed: 'bad-signature',
  changed: 'bad-signature',
  stranger: 'untrusted-key',
  revoked: 'untrusted-key',
  expired: 'untrusted-key',
  'not-allowed': 'untrusted-key',
  'keys-unreadable': 'untrusted-key',
} as const satisfies Readonly<Record<string, (typeof DISTRUST_CAUSES)[number]>>;
export type DistrustReason = keyof typeof CAUSE_OF;

/** Why a message is not believed. The causes are those of dead letters. */
export interface Distrust {
  readonly cause: (typeof DISTRUST_CAUSES)[number];
  readonly reason: DistrustReason;
  /** A sentence for people. */
  readonly message: string;
}

export const distrustOf = (reason: DistrustReason, message: string): Distrust => ({
  cause: CAUSE_OF[reason],
  reason,
  message,
});

/** What stands against a key, to be read on after "its key …". */
interface Objection {
  readonly reason: DistrustReason;
  readonly text: string;
}

const revokedObjection = ({ reason }: KeyRevocation): Objection => ({
  reason: 'revoked',
  text: `was revoked (${printableLine(reason)})`,
});

const notAllowed = (text: string | null): Objection | null =>
  text === null ? null : { reason: 'not-allowed', text };
