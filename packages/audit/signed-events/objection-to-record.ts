import type { TopicId } from '../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import type { LogRecord } from '../../log/port.ts';
import { objectionToStating } from '../../policy/may-state.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { objectionToHead } from '../../records/read-heads.ts';
import type { Principal } from '../../records/trust/trust.ts';

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
