import type { TopicId } from '../events/topics.ts';
import { CLUSTER_DECIDERS, type TopicExchange } from './parties.ts';

/** Who sends and reads what is about clusters. */
export const TOPICS_OF_CLUSTERS = {
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
