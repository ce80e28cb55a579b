import { z } from 'zod';
import { ClusterName } from '../events/identity.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../events/subject-headers.ts';
import { MAX_LIST_ENTRIES } from './image-pattern.ts';
import { MAX_RULES, OwnRule } from './own-rule.ts';

/** The collectors of the control plane that a policy can give to FleetGC, by their names in kube-controller-manager. */
export const Collector = z.enum([
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'ttl-after-finished-controller',
  'certificatesigningrequest-cleaner-controller',
  'podcertificaterequest-cleaner-controller',
]);
export type Collector = z.infer<typeof Collector>;

const Names = z.array(z.string().min(1).max(320)).max(1_000);

/** Which clusters a policy is for. An empty list matches every cluster. */
export const ClusterSelector = z.strictObject({ clusters: z.array(ClusterName).max(MAX_LIST_ENTRIES) });
export type ClusterSelector = z.infer<typeof ClusterSelector>;

/** A policy for clusters as it stands on the log: every default filled in. */
export const ClusterPolicy = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/),
  /** The matching policy with the highest priority holds; between equals, the first by name. */
  priority: z.int(),
  selector: ClusterSelector,
  /** `rehearse`: the API server is asked for all of it, and does nothing. */
  mode: z.enum(['dry-run', 'rehearse', 'enforce']),
  profile: z.enum(['fleetgc', 'kubernetes']),
  /** None by default. */
  collectors: z.array(Collector),
  limits: z.strictObject({
    /** Objects that may go with one owner (cluster S1). */
    cascade: z.int().positive(),
    /** Objects that may go with all missing owners of one kind (cluster S1). */
    cascadeOfKind: z.int().positive(),
    removalsPerHour: z.int().positive(),
  }),
  /**
   * Pods that have ended and may stay, by the name that kube-controller-manager gives it; 0 lets all stay (cluster J3), and so does a
   * policy that was applied before there was this key.
   */
  terminatedPodGCThreshold: z.int().nonnegative().optional(),
  /** Kinds that are held, as `apps/ReplicaSet` (cluster S2). */
  heldKinds: Names,
  /** What stays (cluster S5). */
  keep: z.strictObject({ namespaces: Names, kinds: Names }),
  /** What is deleted is saved on the log before; not there where nothing is. */
  undo: z.literal('manifest').optional(),
  /** Kinds of which no more than the name is kept; not there where there is none. */
  undoExcept: Names.min(1).optional(),
  /** Not there where the policy has none. */
  rules: z.array(OwnRule).min(1).max(MAX_RULES).optional(),
  /** How long a command of this policy may be carried out after its fact was taken. */
  commandLifetimeMs: z.int().min(1_000).max(MAX_COMMAND_LIFETIME_MS),
});
export type ClusterPolicy = z.infer<typeof ClusterPolicy>;

/** Each object of a fact is held against each of them: with the 500 objects of a fact this is less than a decision may take. */
export const MAX_POLICY_NAMES = 5_000;
export const TOO_MANY_NAMES = `heldKinds, keep, undoExcept and rules must have at most ${MAX_POLICY_NAMES} names together`;

/** Names in the lists of a policy that each object is held against. */
export const namesIn = ({
  heldKinds,
  keep,
  undoExcept = [],
  rules = [],
}: Pick<ClusterPolicy, 'heldKinds' | 'keep' | 'undoExcept' | 'rules'>): number =>
  heldKinds.length +
  keep.namespaces.length +
  keep.kinds.length +
  undoExcept.length +
  rules.reduce(
    (sum, { kinds, namespaces, labels = {} }) =>
      sum + kinds.length + namespaces.length + Object.keys(labels).length,
    0,
  );

/** State: one policy for clusters, keyed by `cluster/` and its name. */
export const ClusterPolicyRecord = z.strictObject({
  type: z.literal('fleetgc.cluster-policy'),
  version: z.literal(1),
  id: z.string().min(1),
  policy: ClusterPolicy.refine((policy) => namesIn(policy) <= MAX_POLICY_NAMES, { error: TOO_MANY_NAMES }),
  /** Counts the contents that were applied under this name, from 1, as far as the topic knew when it was applied. */
  policyVersion: z.int().positive(),
  /** SHA-256 of the canonical JSON of `policy`. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** What was applied, as written. */
  source: z.string(),
});
export type ClusterPolicyRecord = z.infer<typeof ClusterPolicyRecord>;
