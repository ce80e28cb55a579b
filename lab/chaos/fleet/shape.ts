import type { TopicName } from '../../../schemas/events/topics.ts';

/** What runs in rounds of a kind, by name: what faults choose from. What stands there more than once comes more often. */
export interface Shape {
  /** The parts that run once per fleet, with their verbs. */
  readonly services: Readonly<Record<string, string>>;
  readonly parts: readonly string[];
  readonly killed: readonly string[];
  /** Those of which two may run beside each other. */
  readonly doubled: readonly string[];
  /** Each has a clock of its own. */
  readonly machines: readonly string[];
  /** Beginnings of the ids by which the brokers know clients. */
  readonly clients: readonly string[];
  /** What a pause may stop. */
  readonly pausable: readonly string[];
  /** Topics on which messages come again. */
  readonly repeated: readonly TopicName[];
}

/** The verbs of the services; replicas of one share a group of its name. */
export const serviceNamesOf = ({ services }: Pick<Shape, 'services'>): readonly string[] => [
  ...new Set(Object.values(services)),
];

/** The parts that run beside each other once per fleet, by name, with their verbs. */
export const SERVICES: Readonly<Record<string, string>> = {
  pressure: 'pressure',
  'container-gc': 'container-gc',
  'image-gc-1': 'image-gc',
  'image-gc-2': 'image-gc',
};

/** What runs on each node: agent and executor apart, or in one. */
export const NODE_PARTS: Readonly<Record<string, readonly string[]>> = {
  'node-a': ['node-agent', 'node-executor'],
  'node-b': ['node'],
};

/** The part of each node that removes. */
export const executorOf = (node: string): string =>
  `${node}/${NODE_PARTS[node]?.find((verb) => verb !== 'node-agent') ?? ''}`;

export const NODE_NAMES: readonly string[] = Object.keys(NODE_PARTS);

/** Machines with a clock of their own: where the services run, and each node. */
const MACHINES: readonly string[] = ['services', ...NODE_NAMES];

const NODE_PART_NAMES: readonly string[] = Object.entries(NODE_PARTS).flatMap(([node, verbs]) =>
  verbs.map((verb) => `${node}/${verb}`),
);
const PART_NAMES: readonly string[] = [...Object.keys(SERVICES), ...NODE_PART_NAMES];

/** Beginnings of the ids by which the brokers know clients: the first is of all that runs on nodes. */
export const CLIENTS = [
  'fleetgc-node',
  'fleetgc-node-agent',
  'fleetgc-node-executor',
  'fleetgc-pressure',
  'fleetgc-container-gc',
  'fleetgc-image-gc',
] as const;

/** They have most to lose, so they end more often than others. */
const EXECUTORS = NODE_NAMES.map(executorOf);

/** Messages come again everywhere but where policies are. */
const REPEATED_TOPICS: readonly TopicName[] = [
  'gc.node.disk-stats',
  'gc.node.inventory',
  'gc.node.observe',
  'gc.node.commands',
  'gc.node.results',
  'gc.node.decisions',
  'gc.dead-letters',
  'gc.node.commands',
  'gc.node.commands',
];

export const NODES_SHAPE: Shape = {
  services: SERVICES,
  parts: PART_NAMES,
  killed: [...PART_NAMES, ...EXECUTORS, ...EXECUTORS],
  doubled: [...NODE_PART_NAMES, ...EXECUTORS],
  machines: MACHINES,
  clients: CLIENTS,
  pausable: ['*', ...NODE_NAMES],
  repeated: REPEATED_TOPICS,
};
