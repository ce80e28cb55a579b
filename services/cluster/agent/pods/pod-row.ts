import type { NodeFacts, PodFacts } from '../../../../packages/kube-api/pods.ts';

import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import type { PodCandidate, PodNode } from '../../../../schemas/events/pods.ts';
import type { ObservedObject } from '../watching/observed-object.ts';

/** What is kept of each pod. */
export interface PodRow extends PodFacts {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp: string | null;
  readonly finalizers: readonly string[];
  readonly keep: boolean;
}

/** `null` for a pod of which nothing may be concluded. */
export function podRow(kind: ResourceKind, object: ObservedObject): PodRow | null {
  const { namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep, pod } = object;
  if (pod === undefined || pod === null) return null;
  return { ...pod, kind, namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep };
}

/** What is kept of each node. */
export interface NodeRow extends NodeFacts {
  readonly name: string;
}

/** A node of which nothing can be read is there, and holds its pods. */
const UNREADABLE_NODE: NodeFacts = { isReady: true, isOutOfService: false, createdAtMs: null };

export const nodeRow = (_: ResourceKind, { name, node }: ObservedObject): NodeRow => ({
  ...(node ?? UNREADABLE_NODE),
  name,
});

/** Bound before the node of that name was there: an earlier one had it (cluster J12). */
export const isOfEarlierNode = ({ boundAtMs }: PodRow, { createdAtMs }: NodeRow): boolean =>
  boundAtMs !== null && createdAtMs !== null && boundAtMs < createdAtMs;

export function podCandidate(row: PodRow, node: PodNode, isInKeptNamespace: boolean): PodCandidate {
  const { kind, namespace, name, uid, resourceVersion, deletionTimestamp, finalizers, keep } = row;
  const { phase, isEvicted, createdAtMs, graceSeconds } = row;
  return {
    object: {
      ...kind,
      namespace,
      name,
      uid,
      resourceVersion,
      deletionTimestamp,
      finalizers: [...finalizers],
      keptBy: keptBy(keep, isInKeptNamespace),
    },
    phase,
    isEvicted,
    createdAtMs,
    graceSeconds,
    node,
  };
}

const keptBy = (keep: boolean, isInKeptNamespace: boolean): PodCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return isInKeptNamespace ? 'namespace' : null;
};
