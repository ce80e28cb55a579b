import { contentHash } from '../../../packages/canonical/ids.ts';
import { policySetHash, rebuiltPolicySet } from '../../../packages/decision/policy-set.ts';
import type { EventLog, LogRecord } from '../../../packages/event-log/port.ts';
import { parseJson, parseValueOf } from '../../../packages/pipeline/parse/parse-record.ts';
import { memoize } from '../../../packages/process/memoize.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
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
  readonly problems: readonly PolicyProblem[];
}

/** Reads `gc.policy-versions` whole, without a group. */
export async function readPolicyHistory(
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<PolicyHistory> {
  const collected: Collected = { policies: new Map(), sets: new Map(), problems: [] };
  for await (const record of readWholeTopic(log, 'policyVersions', signal)) collect(record, collected);
  return historyOf(collected);
}

interface Collected {
  readonly policies: Map<string, PolicyRecordOf<SubjectKind>>;
  readonly sets: Map<string, PolicySetRecord>;
  readonly problems: PolicyProblem[];
}

function collect(record: LogRecord, { policies, sets, problems }: Collected): void {
  const json = parseJson(record.topic, record.value);
  const parsed = json.ok ? parseValueOf('policyVersions', json.event, record) : json;
  if (!parsed.ok) {
    problems.push({ record, message: parsed.rejection.message });
    return;
  }
  const doubled = json.ok && record.value !== null ? doubledMember(record.value, json.event) : null;
  if (doubled !== null) problems.push({ record, message: doubledText(doubled) });
  const { event } = parsed;
  const isSet = event.type === 'fleetgc.policy-set';
  const hash = isSet ? policySetHash(event.policies, event.pauses) : contentHash(event.policy);
  const what = isSet ? 'the set of policies' : `policy ${event.policy.name}`;
  if (hash !== event.hash)
    problems.push({ record, message: `${what} is not the one that its hash was made of` });
  else if (isSet) sets.set(hash, event);
  else policies.set(hash, event);
}

function historyOf({ policies, sets, problems }: Collected): PolicyHistory {
  const rebuiltFor = <Kind extends SubjectKind>(subject: Kind) =>
    memoize((hash): PolicySetOf<Kind> | null => {
      const named = sets.get(hash);
      return named === undefined
        ? null
        : rebuiltPolicySet(subject, named, (policyHash) => policies.get(policyHash));
    });
  const rebuilt: { readonly [Kind in SubjectKind]: (hash: string) => PolicySetOf<Kind> | null } = {
    node: rebuiltFor('node'),
  };
  return {
    problems,
    policySetOf: (subject, hash) => rebuilt[subject](hash),
    whyUnknown: (hash) => {
      const { name } = TOPICS.policyVersions;
      const named = sets.get(hash);
      if (named === undefined) return `${name} does not say what the set of policies ${hash} consisted of`;
      const missing = named.policies.filter((policy) => !policies.has(policy.hash));
      return `${name} lacks ${missing.map((policy) => `policy ${policy.name} of hash ${policy.hash}`).join(', ')}`;
    },
  };
}
