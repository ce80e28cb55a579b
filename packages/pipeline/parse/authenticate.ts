import { type Subject, SubjectKind } from '../../../schemas/events/identity.ts';
import type { TopicId } from '../../../schemas/events/topics.ts';
import type { Headers } from '../../event-log/port.ts';

/** Who published a message, as far as it proves it. */
export type Principal =
  | { readonly kind: 'unauthenticated' }
  /** What speaks for itself. */
  | Subject
  | { readonly kind: 'decider' }
  | { readonly kind: 'operator' };

/**
 * Every consumer passes the raw bytes through this before it parses them. Messages carry no signature yet
 * (`fleetgc-key-id` and `fleetgc-signature` are reserved for it), so nobody proves anything.
 */
export const authenticate = (_bytes: Buffer | null, _headers: Headers): Principal => ({
  kind: 'unauthenticated',
});

/** Who may publish to which topic. A subject publishes about itself only; dead letters come from every consumer. */
const ALLOWED_PUBLISHERS: Readonly<Record<TopicId, readonly Principal['kind'][]>> = {
  diskStats: ['unauthenticated', 'node'],
  inventory: ['unauthenticated', 'node'],
  observe: ['unauthenticated', 'decider'],
  commands: ['unauthenticated', 'decider'],
  results: ['unauthenticated', 'node'],
  decisions: ['unauthenticated', 'decider'],
  policies: ['unauthenticated', 'operator'],
  policyVersions: ['unauthenticated', 'operator', 'decider'],
  deadLetters: ['unauthenticated', ...SubjectKind.options, 'decider', 'operator'],
};

/** Whether the principal may publish this record: its key says whom it is about. */
export function mayPublish(principal: Principal, topic: TopicId, key: string | null): boolean {
  if (!ALLOWED_PUBLISHERS[topic].includes(principal.kind)) return false;
  return !('key' in principal) || topic === 'deadLetters' || key === principal.key;
}
