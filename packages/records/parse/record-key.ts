import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { keyOfLatestFact } from '../../../schemas/events/latest-fact.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { pauseKey, policyKey } from '../../../schemas/policy/policy.ts';
import { contentHash } from '../../canonical/ids.ts';

function policyTopicKey(event: EventOf<'policies'>): string {
  switch (event.type) {
    case 'fleetgc.pause':
      return pauseKey(event.selector);
    case 'fleetgc.approval':
      return approvalKey(event);
    case 'fleetgc.policy-deletion':
      return event.key;
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return policyKey(event);
  }
}

/** What carries no hash of its content has that of the whole event. */
const policyVersionKey = (event: EventOf<'policyVersions'>): string =>
  'hash' in event ? event.hash : contentHash(event);

const KEYS: { readonly [Id in TopicId]: (event: EventOf<Id>) => string } = {
  diskStats: SUBJECTS.node.keyOf,
  inventory: SUBJECTS.node.keyOf,
  observe: SUBJECTS.node.keyOf,
  commands: SUBJECTS.node.keyOf,
  results: SUBJECTS.node.keyOf,
  decisions: SUBJECTS.node.keyOf,
  clusterOwnership: SUBJECTS.cluster.keyOf,
  clusterPods: SUBJECTS.cluster.keyOf,
  clusterExpiry: SUBJECTS.cluster.keyOf,
  clusterCommands: SUBJECTS.cluster.keyOf,
  clusterRemoved: SUBJECTS.cluster.keyOf,
  clusterResults: SUBJECTS.cluster.keyOf,
  clusterDecisions: SUBJECTS.cluster.keyOf,
  clusterCensus: SUBJECTS.cluster.keyOf,
  policies: policyTopicKey,
  policyVersions: policyVersionKey,
  keys: ({ keyId }) => keyId,
  heads: (head) => (head.type === 'fleetgc.archive-head' ? head.archive : head.chain),
  latestFacts: keyOfLatestFact,
  deadLetters: ({ key }) => (key === null ? '' : Buffer.from(key, 'base64').toString('utf8')),
};

/** The key that a record of this event must have on this topic. */
export const keyOf = <Id extends TopicId>(topic: Id, event: EventOf<Id>): string => KEYS[topic](event);
