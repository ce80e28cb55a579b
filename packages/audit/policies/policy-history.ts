import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
import { contentHash } from '../../canonical/ids.ts';
import { policySetHash, rebuiltPolicySet } from '../../decision/policy-set.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { memoize } from '../../process/memoize.ts';
import { parseJson, parseValueOf } from '../../records/parse/parse-record.ts';
import { doubledMember, doubledText } from '../events/doubled-member.ts';
import { readWholeTopic } from '../events/reading.ts';

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
export async function readPolicyHistory(
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<PolicyHistory> {
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
