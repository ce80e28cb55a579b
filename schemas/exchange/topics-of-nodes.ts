import type { TopicId } from '../events/topics.ts';
import { NODE_DECIDERS, type TopicExchange } from './parties.ts';

/** Who sends and reads what is about nodes. */
export const TOPICS_OF_NODES = {
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
