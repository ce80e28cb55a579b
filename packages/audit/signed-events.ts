import type { TopicId } from '../../schemas/events/topics.ts';
import type { KeyRole } from '../../schemas/keys/key-statement.ts';
import type { LogRecord } from '../log/port.ts';
import { objectionToStating } from '../policy/may-state.ts';
import { parseRecord, topicIdOf } from '../records/parse/parse-record.ts';
import { objectionToHead, trustThen } from '../records/read-heads.ts';
import type { KeyRing } from '../records/trust/key-ring.ts';
import { type Distrust, type DistrustReason, type Principal, RequiredTrust } from '../records/trust/trust.ts';

/**
 * `good`: a key that is good now signed it. `good-then`: its key has ended or was revoked since the time that the record bears, which
 * nothing in the record proves. `no-statement`: on `gc.keys`, and no root of the fleet made it. `no-event`: signed, and no service takes
 * it. `nobody-signs`: on a topic whose records need no signature.
 */
type Verdict = 'good' | 'good-then' | DistrustReason | 'no-statement' | 'no-event' | 'nobody-signs';

export interface Judgement {
  readonly verdict: Verdict;
  /** Who signed it, where that is proved. */
  readonly signedBy: SignedBy | null;
  /** What is wrong, or what is not proved, in a sentence. */
  readonly message: string | null;
}

type SignedBy = Pick<Extract<Principal, { kind: 'key' }>, 'keyId' | 'role'> & {
  readonly name: string | null;
};

interface Known {
  readonly ring: KeyRing;
  /** The same statements once more: what lies in a file of events is added to these. */
  readonly statements: KeyRing;
  readonly nowMs: number;
}

/** Says who signed records that somebody brings, by the same steps as every service. */
export class RecordJudge {
  readonly #known: Known;
  readonly #now: RequiredTrust;

  constructor(known: Known) {
    this.#known = known;
    this.#now = new RequiredTrust({
      ring: () => known.ring,
      problem: () => null,
      nowMs: () => known.nowMs,
    });
  }

  judge(record: LogRecord): Judgement {
    const topic = topicIdOf(record.topic);
    if (topic === 'keys') return this.#statement(record);
    // Whoever brings a record may have dated it: it is judged as if the log took it now.
    const now = this.#now.authenticate(topic, { ...record, timestampMs: this.#known.nowMs });
    if (now.ok) return this.#good('good', now.principal, record);
    const { reason } = now.distrust;
    if (reason !== 'expired' && reason !== 'revoked') return distrusted(now.distrust);
    const then = trustThen(this.#known.ring).authenticate(topic, record);
    if (!then.ok) return distrusted(then.distrust);
    const judged = this.#good('good-then', then.principal, record);
    return judged.verdict === 'good-then'
      ? { ...judged, message: `${now.distrust.message}; it was good at the time that the event bears` }
      : judged;
  }

  #good(verdict: 'good' | 'good-then', principal: Principal, record: LogRecord): Judgement {
    if (principal.kind === 'unauthenticated')
      return { verdict: 'nobody-signs', signedBy: null, message: 'on its topic nobody signs' };
    const { keyId, role } = principal;
    const signedBy = { keyId, role, name: this.#known.ring.find(keyId)?.name ?? null };
    const topic = topicIdOf(record.topic);
    const parsed = parseRecord(topic, record);
    if (!parsed.ok)
      return { verdict: 'no-event', signedBy, message: `no service takes it: ${parsed.rejection.message}` };
    const objection = objectionToRecord(topic, record, principal);
    return objection === null
      ? { verdict, signedBy, message: null }
      : { verdict: 'not-allowed', signedBy, message: objection };
  }

  #statement(record: LogRecord): Judgement {
    const added = this.#known.statements.add(record);
    if (added.kind === 'refused') return { verdict: 'no-statement', signedBy: null, message: added.why };
    const keyId = record.headers.ce_fleetgckeyid ?? '';
    return { verdict: 'good', signedBy: { keyId, role: 'root', name: null }, message: null };
  }
}

const distrusted = ({ reason, message }: Distrust): Judgement => ({
  verdict: reason,
  signedBy: null,
  message,
});

type SigningKeyPrincipal = Extract<Principal, { kind: 'key' }>;

/**
 * Why whoever signed a record may not say what is in it, in a sentence; `null` where they may. Which roles may write to its topic at all
 * was asked before.
 */
export function objectionToRecord(
  topic: TopicId,
  record: LogRecord,
  principal: SigningKeyPrincipal,
): string | null {
  switch (topic) {
    case 'heads':
      return objectionToHeadRecord(record, principal.role);
    case 'policyVersions':
      return objectionToVersion(record, principal);
    case 'policies':
      return objectionToState(record, principal);
    default:
      return null;
  }
}

function objectionToHeadRecord(record: LogRecord, role: KeyRole): string | null {
  const parsed = parseRecord('heads', record);
  return parsed.ok ? objectionToHead(role, parsed.event, record) : parsed.rejection.message;
}

/** Deciders tell of sets of policies, and who wrote a policy, pause or deletion tells of that. What was put back there changes nothing. */
function objectionToVersion(record: LogRecord, principal: SigningKeyPrincipal): string | null {
  const parsed = parseRecord('policyVersions', record);
  if (!parsed.ok) return parsed.rejection.message;
  if (parsed.event.type !== 'fleetgc.policy-set') return objectionToStating(principal, parsed.event);
  return principal.role === 'decider'
    ? null
    : `a key of role ${principal.role} signed it, which tells of no set of policies`;
}

function objectionToState(record: LogRecord, principal: SigningKeyPrincipal): string | null {
  const parsed = parseRecord('policies', record);
  return parsed.ok ? objectionToStating(principal, parsed.event) : null;
}
