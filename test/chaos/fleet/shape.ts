/** The parts that run beside each other once per fleet, by name, with their verbs. */
export const SERVICES: Readonly<Record<string, string>> = {
  pressure: 'pressure',
  'container-gc': 'container-gc',
  'image-gc-1': 'image-gc',
  'image-gc-2': 'image-gc',
};

/** The verbs of these; replicas of one share a group of its name. */
export const SERVICE_NAMES: readonly string[] = [...new Set(Object.values(SERVICES))];

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
export const MACHINES: readonly string[] = ['services', ...NODE_NAMES];

export const NODE_PART_NAMES: readonly string[] = Object.entries(NODE_PARTS).flatMap(([node, verbs]) =>
  verbs.map((verb) => `${node}/${verb}`),
);
export const PART_NAMES: readonly string[] = [...Object.keys(SERVICES), ...NODE_PART_NAMES];

/** Beginnings of the ids by which the brokers know clients: the first is of all that runs on nodes. */
export const CLIENTS = [
  'fleetgc-node',
  'fleetgc-node-agent',
  'fleetgc-node-executor',
  'fleetgc-pressure',
  'fleetgc-container-gc',
  'fleetgc-image-gc',
] as const;
