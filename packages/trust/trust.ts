import { SUBJECTS, type Subject } from '../../schemas/events/identity.ts';
import { subjectKindOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { KeyId, KeyRole } from '../../schemas/keys/key-statement.ts';
import type { LogRecord } from '../event-log/port.ts';
import { type CertifiedKey, type KeyRing, keyText } from './key-ring.ts';
import { claimedSignature, isSignedBy, type Signature } from './signature.ts';

/** Who published a message, as far as it proves it. */
export type Principal =
  | { readonly kind: 'unauthenticated' }
  | {
      readonly kind: 'key';
      readonly keyId: KeyId;
      readonly role: KeyRole;
      readonly clusters: readonly string[];
    };

export const NOBODY_PROVED: Principal = { kind: 'unauthenticated' };

/** Why a message is not believed. The causes are those of dead letters. */
export interface Distrust {
  readonly cause: 'unsigned' | 'bad-signature' | 'untrusted-key';
  /** A sentence for people. */
  readonly message: string;
}

export type Authentication =
  | { readonly ok: true; readonly principal: Principal }
  | { readonly ok: false; readonly distrust: Distrust };

/** What every record passes before it is parsed. */
export interface Trust {
  authenticate(
    topic: TopicId,
    record: Pick<LogRecord, 'topic' | 'key' | 'value' | 'headers' | 'timestampMs'>,
  ): Authentication;
}

/** Whoever can write to the log is believed: Kafka's access rules alone say who that is. */
export const TRUST_OFF: Trust = { authenticate: () => ({ ok: true, principal: NOBODY_PROVED }) };

/**
 * Whose signature a record needs, by topic. `now`: of a key that is good at this moment, since an order is about this
 * moment. `then`: of a key that was good when the log took the record, since what was put into force stays so after the key
 * has expired.
 */
type Signers = { readonly roles: readonly KeyRole[]; readonly good: 'now' | 'then' } | 'unsigned';

const SIGNERS: Readonly<Record<TopicId, Signers>> = {
  diskStats: 'unsigned',
  inventory: 'unsigned',
  observe: { roles: ['decider'], good: 'now' },
  commands: { roles: ['decider'], good: 'now' },
  results: 'unsigned',
  decisions: 'unsigned',
  policies: { roles: ['operator', 'pauser'], good: 'then' },
  policyVersions: 'unsigned',
  keys: { roles: ['root'], good: 'then' },
  deadLetters: 'unsigned',
};

export const needsSignature = (topic: TopicId): boolean => SIGNERS[topic] !== 'unsigned';

export interface TrustSettings {
  readonly ring: () => KeyRing;
  /** Epoch milliseconds; never earlier than a time that was proved before. */
  readonly nowMs: () => number;
}

/** Believes what the roots' statements allow. */
export class RequiredTrust implements Trust {
  readonly #ring: TrustSettings['ring'];
  readonly #nowMs: TrustSettings['nowMs'];

  constructor({ ring, nowMs }: TrustSettings) {
    this.#ring = ring;
    this.#nowMs = nowMs;
  }

  authenticate(topic: TopicId, record: Parameters<Trust['authenticate']>[1]): Authentication {
    const signers = SIGNERS[topic];
    if (signers === 'unsigned') return { ok: true, principal: NOBODY_PROVED };
    const claimed = claimedSignature(record.headers);
    if (claimed.kind === 'none') return distrust('unsigned', 'it carries no signature');
    if (claimed.kind === 'malformed') return distrust('bad-signature', 'its signature is malformed');
    const { signature } = claimed;
    const key = this.#ring().find(signature.keyId);
    if (key === undefined) return distrust('untrusted-key', `no root vouches for its key ${signature.keyId}`);
    const objection =
      this.#objection(key, signers, record) ??
      objectionTo(signature, signers) ??
      objectionToSubject(topic, key, record.key);
    if (objection !== null) return distrust('untrusted-key', `its key ${keyText(key)} ${objection}`);
    if (!isSignedBy(key.publicKey, this.#ring().fleet, record, signature))
      return distrust('bad-signature', `its signature is not that of ${keyText(key)} over this record`);
    const { keyId, role, clusters } = key;
    return { ok: true, principal: { kind: 'key', keyId, role, clusters } };
  }

  /** Told before the signature is verified, which costs a thousand times as much. */
  #objection(
    { role, notAfterMs, revocation }: CertifiedKey,
    { roles, good }: Exclude<Signers, 'unsigned'>,
    { timestampMs }: { readonly timestampMs: number },
  ): string | null {
    if (!roles.includes(role)) return `is that of a ${role}, who may not sign this`;
    if (revocation !== null && (good === 'now' || timestampMs >= revocation.untrustedFromMs))
      return `was revoked (${revocation.reason})`;
    if ((good === 'now' ? this.#nowMs() : timestampMs) >= notAfterMs)
      return `has expired at ${new Date(notAfterMs).toISOString()}`;
    return null;
  }
}

const distrust = (cause: Distrust['cause'], message: string): Authentication => ({
  ok: false,
  distrust: { cause, message },
});

/** What stays in force may not be put back to an older state. */
const objectionTo = ({ generation }: Signature, { good }: Exclude<Signers, 'unsigned'>): string | null =>
  good === 'then' && generation === null ? 'signed it without a generation' : null;

/** For whom a key speaks is in the record's key; whom a policy selects is told where policies are read. */
function objectionToSubject(
  topic: TopicId,
  { clusters }: CertifiedKey,
  recordKey: string | null,
): string | null {
  const kind = subjectKindOf(TOPICS[topic]);
  if (clusters.length === 0 || kind === null) return null;
  return recordKey !== null && isOfClusters({ kind, key: recordKey }, clusters)
    ? null
    : `is for the clusters ${clusters.join(', ')} alone`;
}

const isOfClusters = ({ kind, key }: Subject, clusters: readonly string[]): boolean =>
  SUBJECTS[kind].isKey(key) && clusters.includes(SUBJECTS[kind].clusterOf(key));
