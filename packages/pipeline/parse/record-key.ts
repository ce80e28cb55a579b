import { nodeKey } from '../../../schemas/events/identity.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';

/** The key that a record of this event must have on this topic. */
export function keyOf(topic: TopicId, event: EventOf<TopicId>): string {
  switch (event.type) {
    case 'fleetgc.dead-letter':
    case 'fleetgc.dead-letter-redrive':
      return event.key === null ? '' : Buffer.from(event.key, 'base64').toString('utf8');
    case 'fleetgc.pause':
      return pauseKey(event.selector);
    case 'fleetgc.policy':
      return topic === 'policyVersions' ? event.hash : event.policy.name;
    case 'fleetgc.policy-set':
      return event.hash;
    default:
      return nodeKey(event);
  }
}
