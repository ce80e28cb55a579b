import type { TopicId } from '../events/topics.ts';
import {
  CLUSTER,
  DECIDERS,
  EVERY_CONSUMER,
  NODE,
  PEOPLE,
  type Sending,
  type TopicExchange,
} from './parties.ts';

/** What a policy, a pause and the like say, on the topic of what holds and on that of all that ever held. */
const STATE_OF_POLICIES = {
  'fleetgc.policy.v1': {
    says: 'A policy for nodes, with every default filled in.',
    by: ['operator', 'policy-controller'],
  },
  'fleetgc.cluster-policy.v1': {
    says: 'A policy for clusters, with every default filled in.',
    by: ['operator'],
  },
  'fleetgc.pause.v1': { says: 'Nothing is removed where this selects.', by: PEOPLE },
  'fleetgc.approval.v1': { says: 'Lets go in one cluster what is held there, until a time.', by: PEOPLE },
  'fleetgc.policy-deletion.v1': {
    says: 'Nothing stands under this record key any more.',
    by: [...PEOPLE, 'policy-controller'],
  },
} as const satisfies Readonly<Record<string, Sending>>;

/** Who sends and reads what is about the whole fleet. */
export const TOPICS_OF_ALL = {
  policies: {
    kind: 'state',
    says: 'The policies, pauses and approvals in force: the last record of each key.',
    sent: STATE_OF_POLICIES,
    readBy: [...NODE, ...CLUSTER, ...DECIDERS, 'notifier', 'policy-controller'],
  },
  policyVersions: {
    kind: 'fact',
    says: 'Every policy, pause and approval that ever was, so that old decisions can be proved.',
    sent: {
      ...STATE_OF_POLICIES,
      'fleetgc.policy-set.v1': {
        says: 'Which policies, pauses and approvals a set consisted of that somebody decided under.',
        by: DECIDERS,
      },
    },
    readBy: [...DECIDERS, 'notifier', 'policy-controller'],
  },
  keys: {
    kind: 'state',
    says: 'Which keys may sign what.',
    sent: {
      'fleetgc.key-certificate.v1': {
        says: 'A root says which role a key has, for what, and until when.',
        by: ['operator'],
      },
      'fleetgc.key-revocation.v1': { says: 'A root takes a key back for good.', by: ['operator'] },
    },
    readBy: [...NODE, ...CLUSTER, ...DECIDERS, 'notifier', 'policy-controller'],
  },
  heads: {
    kind: 'fact',
    says: 'Who says under a signature what it has written, so that what is missing later is noticed.',
    sent: {
      'fleetgc.archive-head.v1': {
        says: 'What an archive is after a pass: how many lines its manifest has, and the hash of the last.',
        by: ['archiver'],
      },
      'fleetgc.decision-head.v1': {
        says: 'Which decisions a replica has written since its last head, and a hash over them.',
        by: DECIDERS,
      },
    },
    readBy: [],
  },
  deadLetters: {
    kind: 'fact',
    says: 'Messages that could not be processed.',
    sent: {
      'fleetgc.dead-letter.v1': {
        says: 'One message, whole, with its position and the cause.',
        by: EVERY_CONSUMER,
      },
      'fleetgc.dead-letter-redrive.v1': { says: 'The message of a dead letter was put back.', by: PEOPLE },
    },
    readBy: ['notifier'],
  },
} as const satisfies Partial<Readonly<Record<TopicId, TopicExchange>>>;
