import { z } from 'zod';
import { ClusterInstant, ClusterObject, ObjectText } from './cluster-objects.ts';
import { ClusterIdentity, ObjectUid } from './identity.ts';
import { MAX_CANDIDATE_FINALIZERS, ReferenceState, UnsyncedKind } from './ownership.ts';

/** @limit Entries of each finding of a census. The rest are counted. */
export const MAX_CENSUS_ENTRIES = 50;
/** Of what holds an owner back so many are named. */
export const MAX_CENSUS_BLOCKERS = 5;
/** Kinds of which it is told how many objects there are. */
export const MAX_CENSUS_KINDS = 50;
const MAX_KINDS = 5_000;

export const CensusObject = z.object(
  ClusterObject.pick({ group: true, kind: true, namespace: true, name: true, uid: true }).shape,
);
export type CensusObject = z.infer<typeof CensusObject>;

const found = <Entry extends z.ZodType>(entry: Entry) =>
  z.object({ count: z.int().nonnegative(), first: z.array(entry).max(MAX_CENSUS_ENTRIES) });

/** Since when an object is being deleted, as the API server wrote it. */
const deletionTimestamp = z.string().max(64);

/** What of a cluster people should know, beside what is decided about it. */
export const CensusFindings = z.object({
  /** Being deleted for a long time, and waiting for finalizers of others. */
  stuckFinalizers: found(
    z.object({
      object: CensusObject,
      deletionTimestamp,
      finalizers: z.array(ObjectText).max(MAX_CANDIDATE_FINALIZERS),
    }),
  ),
  /** Owners that wait for dependents, and who holds them back (cluster D17). */
  waitingOwners: found(
    z.object({
      object: CensusObject,
      deletionTimestamp,
      blocking: z.int().nonnegative(),
      blockers: z.array(CensusObject).max(MAX_CENSUS_BLOCKERS),
    }),
  ),
  /** References to what is not there, or is another object than they describe. */
  badReferences: found(
    z.object({
      object: CensusObject,
      owner: z.object({ apiVersion: ObjectText, kind: ObjectText, name: ObjectText, uid: ObjectUid }),
      state: ReferenceState,
    }),
  ),
  /** Owners that are missing, the widest cascade first (cluster S1). */
  missingOwners: found(
    z.object({
      ownerUid: ObjectUid,
      ownerKind: ObjectText,
      ownerName: ObjectText,
      objects: z.int().nonnegative(),
      ofKind: z.int().nonnegative(),
    }),
  ),
  /** Of these nothing is concluded, and why. */
  unsyncedKinds: z.array(UnsyncedKind).max(MAX_KINDS),
  failedGroups: z.array(ObjectText).max(MAX_KINDS),
});
export type CensusFindings = z.infer<typeof CensusFindings>;

/** How many objects of a kind there are. */
export const CensusKind = z.object({
  ...ClusterObject.pick({ group: true, kind: true }).shape,
  objects: z.int().positive(),
});
export type CensusKind = z.infer<typeof CensusKind>;

/** Fact: how one cluster stands. Nobody decides on it. */
export const Census = z.object({
  type: z.literal('fleetgc.cluster.census'),
  version: z.literal(1),
  id: z.string().min(1).max(200),
  ...ClusterIdentity.shape,
  session: z.uuid(),
  takenAt: ClusterInstant,
  totals: z.object({ kinds: z.int().nonnegative(), objects: z.int().nonnegative() }),
  /** Those of which there are most, these first. Not there where the agent is of an older release. */
  kinds: z.array(CensusKind).max(MAX_CENSUS_KINDS).optional(),
  findings: CensusFindings,
});
export type Census = z.infer<typeof Census>;
