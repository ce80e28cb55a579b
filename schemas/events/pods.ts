import { z } from 'zod';
import { ClusterInstant, ClusterObject, ObjectText } from './cluster-objects.ts';
import { ClusterIdentity } from './identity.ts';
import { MAX_CANDIDATE_FINALIZERS } from './ownership.ts';

/**
 * One fact holds at most so many pods: as many as a command can name.
 * @limit Pods in one fact.
 */
export const MAX_POD_CANDIDATES = 500;
const MAX_PHASE_LENGTH = 64;
const MAX_NODE_NAME_LENGTH = 253;

const NodeName = z.string().min(1).max(MAX_NODE_NAME_LENGTH);

/** What is known of the node that a pod names. */
export const PodNode = z.discriminatedUnion('state', [
  /** The pod names none. */
  z.object({ state: z.literal('none') }),
  z.object({
    state: z.literal('there'),
    name: NodeName,
    isReady: z.boolean(),
    /** It has the taint that says so (cluster J5). */
    isOutOfService: z.boolean(),
  }),
  /** No node of that name has been seen for so long (cluster J6). */
  z.object({ state: z.literal('missing'), name: NodeName, missingForMs: z.int().nonnegative() }),
]);
export type PodNode = z.infer<typeof PodNode>;

/** A pod that may have to go, with every fact that a decision needs. */
export const PodCandidate = z.object({
  object: z.object({
    ...ClusterObject.shape,
    /** As the API server wrote it; `null` for what is not being deleted. */
    deletionTimestamp: z.string().max(64).nullable(),
    finalizers: z.array(ObjectText).max(MAX_CANDIDATE_FINALIZERS),
    /** What bears the annotation that keeps it. */
    keptBy: z.enum(['object', 'namespace']).nullable(),
  }),
  /** Empty where the pod has none. */
  phase: z.string().max(MAX_PHASE_LENGTH),
  isEvicted: z.boolean(),
  createdAtMs: z.int().nonnegative(),
  /** What is left to it while it is being deleted. */
  graceSeconds: z.int().nonnegative().nullable(),
  node: PodNode,
});
export type PodCandidate = z.infer<typeof PodCandidate>;

/** Fact: which pods of one cluster may have to go, as things are now. */
export const Pods = z.object({
  type: z.literal('fleetgc.cluster.pods'),
  version: z.literal(1),
  id: z.string().min(1).max(200),
  ...ClusterIdentity.shape,
  /** As of facts about owners. */
  session: z.uuid(),
  /** Counts the facts of this kind of a session. */
  seq: z.int().nonnegative(),
  takenAt: ClusterInstant,
  totals: z.object({
    pods: z.int().nonnegative(),
    nodes: z.int().nonnegative(),
    /** Pods that have ended, whatever else is true of them (cluster J3, J4). */
    terminated: z.int().nonnegative(),
    /** Pods whose node is missing. */
    onMissingNodes: z.int().nonnegative(),
    /** Pods that were bound before the node of that name was there (cluster J12). */
    onReplacedNodes: z.int().nonnegative(),
  }),
  /** The cluster's state is older than it was: it was restored a short time ago (cluster S3). */
  wentBack: z.boolean(),
  candidates: z.array(PodCandidate).max(MAX_POD_CANDIDATES),
});
export type Pods = z.infer<typeof Pods>;
