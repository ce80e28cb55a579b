import { z } from 'zod';
import { ClusterInstant, ClusterObject, ObjectText, ServedKind } from './cluster-objects.ts';
import { ClusterIdentity, ObjectUid } from './identity.ts';

/** @limit Candidates in one ownership fact. */
export const MAX_CANDIDATES = 500;
/** References of an object beyond which it is no candidate, and is told as one that nobody judges. */
export const MAX_CANDIDATE_REFERENCES = 200;
/**
 * So many objects at once whose missing owners have namesakes look like a backup that was restored (cluster S16).
 * @limit Owners with namesakes at one time from which on a restore is suspected and their dependents are held (S16).
 */
export const LEAST_RESTORED = 10;
/** No object has more; what was cut away is told by a sign in its place. */
export const MAX_CANDIDATE_FINALIZERS = 101;
const MAX_KINDS = 5_000;
/** A kind with its group. */
const CascadeText = z.string().max(700);

/** What one owner reference comes to, by the graph of its cluster. */
export const ReferenceState = z.enum([
  /** The owner is there. */
  'held',
  /** There, and waiting for its blocking dependents to go. */
  'waiting',
  /** Being deleted so that its dependents stay. */
  'orphaning',
  /** Was seen, and deleted. */
  'gone',
  /** Never seen, though its kind is synced and the dependent is not new. */
  'unseen',
  /** The uid is, or was, that of another object than the reference describes. */
  'elsewhere',
  /** Its kind cannot be listed: only a live read can tell. */
  'unlisted',
  /** Its kind is not known, or not for sure. */
  'unresolved',
  /** A cluster-scoped object names a namespaced owner (cluster H2). */
  'scope',
  /** Nothing can be said yet: its kind is not synced, or the dependent was seen just now. */
  'pending',
]);
export type ReferenceState = z.infer<typeof ReferenceState>;

/**
 * How it was learned that an object is gone. `watched`: the API server told it. `relisted`: a complete list lacked it (cluster A14).
 * `mass-relisted`: that list lacked half of its kind or more. `kind-going`: its definition was being deleted (cluster S3).
 */
export const GoneHow = z.enum(['watched', 'relisted', 'mass-relisted', 'kind-going']);
export type GoneHow = z.infer<typeof GoneHow>;

export const OwnershipReference = z.object({
  apiVersion: ObjectText,
  kind: ObjectText,
  name: ObjectText,
  uid: ObjectUid,
  controller: z.boolean(),
  blockOwnerDeletion: z.boolean(),
  state: ReferenceState,
  /** As whom the API server serves the kind, or did when the owner was seen; `null` where it is not known. */
  resolved: ServedKind.nullable(),
  /** Of an owner that was seen and is gone; `orphaned`: it went so that its dependents stay (cluster S6). */
  gone: z.object({ how: GoneHow, orphaned: z.boolean() }).nullable(),
  /** Of an owner that was never seen: the uid of another object that bears its name. Not there where none does (cluster S16). */
  namesakeUid: ObjectUid.optional(),
});
export type OwnershipReference = z.infer<typeof OwnershipReference>;

/** What a missing or waiting owner takes along, as it was before anything went (cluster S1). */
export const Cascade = z.object({
  ownerUid: ObjectUid,
  /** `apps/ReplicaSet`. */
  ownerKind: CascadeText,
  objects: z.int().nonnegative(),
  /** Of all missing owners of this kind. */
  ofKind: z.int().nonnegative(),
  /** The owner with which this one went or goes, if it is part of a larger cascade. */
  within: z
    .object({
      uid: ObjectUid,
      kind: CascadeText,
      /** Empty for one that lies in none; `null` for one that was never seen. */
      namespace: ObjectText.nullable(),
      name: ObjectText,
    })
    .nullable(),
});
export type Cascade = z.infer<typeof Cascade>;

/** An object for which something may have to be done, with every fact that a decision needs. */
export const OwnershipCandidate = z.object({
  object: z.object({
    ...ClusterObject.shape,
    /** As the API server wrote it; `null` for what is not being deleted. */
    deletionTimestamp: z.string().max(64).nullable(),
    finalizers: z.array(ObjectText).max(MAX_CANDIDATE_FINALIZERS),
    /** What bears the annotation that keeps it. */
    keptBy: z.enum(['object', 'namespace']).nullable(),
  }),
  references: z.array(OwnershipReference).max(MAX_CANDIDATE_REFERENCES),
  dependents: z.object({
    count: z.int().nonnegative(),
    /** Of them, those that hold the object back while it waits (cluster D17). */
    blocking: z.int().nonnegative(),
    /** One of them waits for its own dependents: the sign of a ring (cluster D12). */
    oneWaits: z.boolean(),
  }),
  /** Those in which the object goes: one for each owner that is missing or waits. */
  cascades: z.array(Cascade).max(MAX_CANDIDATE_REFERENCES),
  /** Objects of the cluster, this one among them, whose missing owners have namesakes. Not there where its own have none (cluster S16). */
  withNamesakes: z.int().positive().optional(),
});
export type OwnershipCandidate = z.infer<typeof OwnershipCandidate>;

/** A candidate of before, and how it ended. */
export const SettledCandidate = z.object({
  ...ClusterObject.pick({ group: true, kind: true, namespace: true, name: true, uid: true }).shape,
  how: z.enum(['gone', 'no-candidate']),
});
export type SettledCandidate = z.infer<typeof SettledCandidate>;

/** A kind of which nothing is concluded, and why. */
export const UnsyncedKind = z.object({
  group: ObjectText,
  kind: ObjectText,
  reason: z.string().max(500),
});
export type UnsyncedKind = z.infer<typeof UnsyncedKind>;

/** Fact: what of one cluster's owner graph may call for something, as things are now. */
export const Ownership = z.object({
  type: z.literal('fleetgc.cluster.ownership'),
  version: z.literal(1),
  id: z.string().min(1).max(200),
  ...ClusterIdentity.shape,
  /** Random per start of the agent, and per restore of the cluster. */
  session: z.uuid(),
  /** Counts the facts of a session. */
  seq: z.int().nonnegative(),
  takenAt: ClusterInstant,
  unsyncedKinds: z.array(UnsyncedKind).max(MAX_KINDS),
  failedGroups: z.array(ObjectText).max(MAX_KINDS),
  totals: z.object({ kinds: z.int().nonnegative(), objects: z.int().nonnegative() }),
  /** The cluster's state is older than it was: it was restored a short time ago (cluster S3). */
  wentBack: z.boolean(),
  settled: z.array(SettledCandidate).max(MAX_CANDIDATES),
  candidates: z.array(OwnershipCandidate).max(MAX_CANDIDATES),
});
export type Ownership = z.infer<typeof Ownership>;
