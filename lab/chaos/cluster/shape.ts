import type { Shape } from '../fleet/shape.ts';

/** The parts that decide, by name, with their verbs. */
const SERVICES: Readonly<Record<string, string>> = {
  'graph-gc-1': 'graph-gc',
  'graph-gc-2': 'graph-gc',
  'pod-gc': 'pod-gc',
  'expiry-gc': 'expiry-gc',
};

/** The one cluster of a round, by the name that its operator gives it. */
export const CLUSTER = 'chaos';

export const AGENT = 'cluster-agent';
export const EXECUTOR = 'cluster-executor';
const CLUSTER_PARTS: readonly string[] = [AGENT, EXECUTOR];
const PARTS: readonly string[] = [...Object.keys(SERVICES), ...CLUSTER_PARTS];

/** Where agent and executor run. */
export const CLUSTER_MACHINE = 'cluster';

export const CLUSTER_SHAPE: Shape = {
  services: SERVICES,
  parts: PARTS,
  killed: [...PARTS, AGENT, EXECUTOR, EXECUTOR],
  doubled: [...CLUSTER_PARTS, EXECUTOR],
  machines: ['services', CLUSTER_MACHINE],
  clients: [
    'fleetgc-cluster',
    'fleetgc-cluster-agent',
    'fleetgc-cluster-executor',
    'fleetgc-graph-gc',
    'fleetgc-pod-gc',
    'fleetgc-expiry-gc',
  ],
  pausable: ['*'],
  repeated: [
    'gc.cluster.ownership',
    'gc.cluster.pods',
    'gc.cluster.expiry',
    'gc.cluster.decisions',
    'gc.cluster.results',
    'gc.dead-letters',
    'gc.cluster.commands',
    'gc.cluster.commands',
  ],
};
