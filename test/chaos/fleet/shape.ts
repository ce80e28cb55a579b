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

export const NODE_NAMES: readonly string[] = Object.keys(NODE_PARTS);

export const PART_NAMES: readonly string[] = [
  ...Object.keys(SERVICES),
  ...Object.entries(NODE_PARTS).flatMap(([node, verbs]) => verbs.map((verb) => `${node}/${verb}`)),
];

/** Beginnings of the ids by which the brokers know clients: the first is of all that runs on nodes. */
export const CLIENTS = [
  'fleetgc-node',
  'fleetgc-node-agent',
  'fleetgc-node-executor',
  'fleetgc-pressure',
  'fleetgc-container-gc',
  'fleetgc-image-gc',
] as const;
