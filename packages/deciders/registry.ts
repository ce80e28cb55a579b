import type { AnyDeciderName, ClusterDeciderName } from '../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { DecisionService } from '../service/decision-writing.ts';

/**
 * One decider: its process, its function, its verb and their help follow from this row. A new decider is a folder beside
 * this file, a row here, and its name in `schemas/events/deciders.ts`.
 */
interface DeciderRow<Kind extends SubjectKind> {
  /** The line of its verb in the help. */
  readonly summary: string;
  /** What it reads and sends, for the help of its verb. */
  readonly does: string;
  /** Where its process listens for probes and metrics. Each has its own, so that all can run on one machine. */
  readonly httpPort: number;
  /** Loaded when it runs: a process loads only the deciders that it runs. */
  readonly load: () => Promise<{ readonly decider: DecisionService<Kind> }>;
}

/** Whom a decider decides about. */
export type SubjectOfDecider<Name extends AnyDeciderName> = Name extends ClusterDeciderName
  ? 'cluster'
  : 'node';

type Registry = { readonly [Name in AnyDeciderName]: DeciderRow<SubjectOfDecider<Name>> };

export const DECIDERS: Registry = {
  pressure: {
    summary: 'Watch disk usage and begin reclaims',
    does: 'Reads disk statistics. When a usage threshold or an eviction threshold of the policy is met, it orders an inventory from the node and begins a reclaim.',
    httpPort: 9644,
    load: () => import('./pressure/decider.ts'),
  },
  'container-gc': {
    summary: 'Decide which dead containers and sandboxes go',
    does: 'Reads inventories and sends commands to remove dead containers and sandboxes, if the policy says "mode: enforce". In every mode it records what it decided and why.',
    httpPort: 9645,
    load: () => import('./container-gc/decider.ts'),
  },
  'image-gc': {
    summary: 'Decide which images go',
    does: 'Reads inventories and sends commands to remove images, if the policy says "mode: enforce". In every mode it records what it decided and why.',
    httpPort: 9646,
    load: () => import('./image-gc/decider.ts'),
  },
  'graph-gc': {
    summary: 'Decide which Kubernetes objects go whose owners are gone',
    does: 'Reads what the agents of clusters tell of owners, and sends commands to delete what they left behind, if the policy says "mode: enforce". In every mode it records what it decided and why.',
    httpPort: 9650,
    load: () => import('./graph-gc/decider.ts'),
  },
  'pod-gc': {
    summary: 'Decide which pods go that ended, or whose nodes are gone',
    does: 'Reads what the agents of clusters tell of pods, and sends commands to remove those that ended and are too many, whose nodes are gone or out of service, or that were deleted before they had a node, if the policy says "mode: enforce". In every mode it records what it decided and why.',
    httpPort: 9652,
    load: () => import('./pod-gc/decider.ts'),
  },
  'expiry-gc': {
    summary: 'Decide which Kubernetes objects go whose time is over',
    does: 'Reads what the agents of clusters tell of Jobs and certificate requests whose time is over, and sends commands to delete them, if the policy says "mode: enforce". In every mode it records what it decided and why.',
    httpPort: 9653,
    load: () => import('./expiry-gc/decider.ts'),
  },
};
