import { TOPICS, type TopicId } from '../events/topics.ts';
import {
  CLUSTER,
  CLUSTER_DECIDERS,
  DECIDERS,
  EVERY_CONSUMER,
  NODE,
  NODE_DECIDERS,
  PEOPLE,
  type Sending,
  type TopicExchange,
} from './parties.ts';

/** Who sends and reads what is about nodes. */
const TOPICS_OF_NODES = {
  diskStats: {
    kind: 'fact',
    says: 'How full the filesystems of a node are.',
    sent: {
      'fleetgc.node.disk-stats.v1': {
        says: 'How full each filesystem is, and was in the last two hours.',
        by: ['node-agent'],
      },
    },
    readBy: ['pressure', 'notifier', 'policy-controller'],
  },
  inventory: {
    kind: 'fact',
    says: 'All that lies on a node and could go.',
    sent: {
      'fleetgc.node.inventory.v1': {
        says: 'Every image, container, sandbox and pod log of a node, who uses what, and how full the disks are.',
        by: ['node-agent'],
      },
    },
    readBy: ['container-gc', 'image-gc'],
  },
  observe: {
    kind: 'order',
    says: 'Asks a node to look at what it holds.',
    sent: {
      'fleetgc.node.observe.v1': {
        says: 'Asks for an inventory, and says which reclaim it is for.',
        by: ['pressure', 'container-gc'],
      },
    },
    readBy: ['node-agent', 'notifier'],
  },
  commands: {
    kind: 'order',
    says: 'Asks a node to remove what it would remove itself.',
    sent: {
      'fleetgc.node.command.v1': {
        says: 'At most 50 objects, in order, with the rule for each, and until when the command holds.',
        by: ['container-gc', 'image-gc'],
      },
    },
    readBy: ['node-executor'],
  },
  results: {
    kind: 'fact',
    says: 'What came of commands on nodes.',
    sent: {
      'fleetgc.node.object-result.v1': { says: 'What became of one object.', by: ['node-executor'] },
      'fleetgc.node.removal-intent.v1': {
        says: 'An object is about to be removed, and the journal cannot be written.',
        by: ['node-executor'],
      },
      'fleetgc.node.command-result.v1': {
        says: 'What became of a command, with the space before and after.',
        by: ['node-executor'],
      },
      'fleetgc.node.pass-failed.v1': { says: 'What went wrong in a pass.', by: ['node-executor'] },
      'fleetgc.node.reclaim-continues.v1': {
        says: 'A command of a reclaim missed its target: the reclaim is at its next action or round.',
        by: ['node-executor'],
      },
      'fleetgc.node.pressure-unrelieved.v1': {
        says: 'A reclaim missed its target, and what holds the space.',
        by: ['node-executor'],
      },
    },
    readBy: ['pressure', 'notifier'],
  },
  decisions: {
    kind: 'fact',
    says: 'What was decided about nodes, and why.',
    sent: {
      'fleetgc.node.decision.v1': {
        says: 'What was decided on one message, for every object, with the rule and the facts used.',
        by: NODE_DECIDERS,
      },
      'fleetgc.node.pressure-unrelieved.v1': {
        says: 'A reclaim missed its target, and what holds the space.',
        by: ['container-gc', 'image-gc'],
      },
    },
    readBy: ['notifier'],
  },
} as const satisfies Partial<Readonly<Record<TopicId, TopicExchange>>>;

/** Who sends and reads what is about clusters. */
const TOPICS_OF_CLUSTERS = {
  clusterOwnership: {
    kind: 'fact',
    says: 'Objects of a cluster for which something may have to be done, by their owners.',
    sent: {
      'fleetgc.cluster.ownership.v1': {
        says: 'Candidates with their owner references, and what each of these comes to.',
        by: ['cluster-agent'],
      },
    },
    readBy: ['graph-gc', 'cluster-agent', 'notifier'],
  },
  clusterPods: {
    kind: 'fact',
    says: 'Pods of a cluster that may have to go.',
    sent: {
      'fleetgc.cluster.pods.v1': {
        says: 'Candidates with their phase, and what is known of their node.',
        by: ['cluster-agent'],
      },
    },
    readBy: ['pod-gc', 'notifier'],
  },
  clusterExpiry: {
    kind: 'fact',
    says: 'Objects of a cluster whose time is over.',
    sent: {
      'fleetgc.cluster.expiry.v1': {
        says: 'Candidates with what says when their time is over.',
        by: ['cluster-agent'],
      },
    },
    readBy: ['expiry-gc', 'notifier'],
  },
  clusterCommands: {
    kind: 'order',
    says: 'Asks for removals in a cluster.',
    sent: {
      'fleetgc.cluster.command.v1': {
        says: 'At most 500 objects, with what is to be done about each.',
        by: CLUSTER_DECIDERS,
      },
    },
    readBy: ['cluster-executor'],
  },
  clusterRemoved: {
    kind: 'fact',
    says: 'What objects of a cluster were, before their deletion is asked for.',
    sent: {
      'fleetgc.cluster.removed.v1': {
        says: 'One object as it was, under a policy with undo: manifest.',
        by: ['cluster-executor'],
      },
    },
    readBy: [],
  },
  clusterResults: {
    kind: 'fact',
    says: 'What executors begin in clusters, and what came of it.',
    sent: {
      'fleetgc.cluster.command-intent.v1': {
        says: 'What an executor may change from now on for a command, before it changes anything.',
        by: ['cluster-executor'],
      },
      'fleetgc.cluster.object-results.v1': {
        says: 'What came of objects of a command, with the reason.',
        by: ['cluster-executor'],
      },
      'fleetgc.cluster.command-result.v1': {
        says: 'What came of a command, after the results of its objects.',
        by: ['cluster-executor'],
      },
    },
    readBy: ['cluster-executor', 'notifier'],
  },
  clusterDecisions: {
    kind: 'fact',
    says: 'What was decided about clusters, and why.',
    sent: {
      'fleetgc.cluster.decision.v1': {
        says: 'What was decided for each candidate of one fact, with the rule and the facts used.',
        by: CLUSTER_DECIDERS,
      },
    },
    readBy: [],
  },
  clusterCensus: {
    kind: 'fact',
    says: 'How clusters stand. Nobody decides on it.',
    sent: {
      'fleetgc.cluster.census.v1': {
        says: 'Counts of what waits, dangles or is missing in a cluster, with the first fifty of each.',
        by: ['cluster-agent'],
      },
    },
    readBy: ['graph-gc', 'notifier'],
  },
} as const satisfies Partial<Readonly<Record<TopicId, TopicExchange>>>;

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
const TOPICS_OF_ALL = {
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
  latestFacts: {
    kind: 'state',
    says: 'Where the latest fact of each node and cluster lies: the last record of each key.',
    sent: {
      'fleetgc.node.latest-fact.v1': {
        says: 'Partition, offset, time and hash of the latest disk statistics of a node.',
        by: ['node-agent'],
      },
      'fleetgc.cluster.latest-fact.v1': {
        says: 'Partition, offset, time and hash of the latest census of a cluster.',
        by: ['cluster-agent'],
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

/** The one table of who sends which event, and who reads it. */
export const EXCHANGE: Readonly<Record<TopicId, TopicExchange>> = {
  ...TOPICS_OF_NODES,
  ...TOPICS_OF_CLUSTERS,
  ...TOPICS_OF_ALL,
};

const isTopicId = (id: string): id is TopicId => id in TOPICS;

/** In the order of the table of topics. */
export const TOPIC_IDS: readonly TopicId[] = Object.keys(TOPICS).filter(isTopicId);
