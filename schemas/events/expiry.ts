import { z } from 'zod';
import { ClusterInstant, ClusterObject, ObjectText } from './cluster-objects.ts';
import { ClusterIdentity } from './identity.ts';
import { Labels } from './label.ts';

/** @limit Expired objects in one fact. */
export const MAX_EXPIRING = 500;
/** A certificate request with more is kept without a look at it. */
export const MAX_CONDITIONS = 50;

/** Epoch milliseconds as an object states them. */
const StatedMs = z.int().nonnegative();

export const JobFacts = z.object({
  of: z.literal('Job'),
  ttlSecondsAfterFinished: z.int().nonnegative().nullable(),
  /** `null` for a Job that goes on; `atMs` is `null` where the time cannot be read (cluster K2). */
  finished: z
    .object({
      atMs: StatedMs.nullable(),
      /** The condition that says so. */
      type: z.enum(['Complete', 'Failed']).optional(),
    })
    .nullable(),
});
export type JobFacts = z.infer<typeof JobFacts>;

/** How far a Job is; `unknown` for one that is not there, or cannot be read. */
export const JobState = z.enum(['finished', 'unfinished', 'unknown']);
export type JobState = z.infer<typeof JobState>;

export const CertificateRequestFacts = z.object({
  of: z.literal('CertificateSigningRequest'),
  /** Whatever their status (cluster L8). */
  conditions: z.array(z.object({ type: ObjectText, updatedAtMs: StatedMs.nullable() })).max(MAX_CONDITIONS),
  certificate: z.discriminatedUnion('is', [
    z.object({ is: z.literal('missing') }),
    z.object({ is: z.literal('unreadable') }),
    z.object({ is: z.literal('there'), notAfterMs: z.int() }),
  ]),
});
export type CertificateRequestFacts = z.infer<typeof CertificateRequestFacts>;

export const PodCertificateRequestFacts = z.object({ of: z.literal('PodCertificateRequest') });

/** Of a pod, which goes by rules of a policy alone. */
export const PodEndFacts = z.object({
  of: z.literal('Pod'),
  /** As its phase and reason say; `null` for one that goes on. */
  ended: z
    .object({
      state: z.enum(['Succeeded', 'Failed', 'Evicted']),
      /** `null` where it does not say when (cluster S13). */
      atMs: StatedMs.nullable(),
    })
    .nullable(),
});
export type PodEndFacts = z.infer<typeof PodEndFacts>;

/** Of an object of any other kind, of which nothing but metadata says when its time is over. */
export const AnnotatedFacts = z.object({ of: z.literal('object') });

/** Annotations by which an object says when it may go (cluster S8). */
export const TimeAnnotation = z.enum(['fleetgc.io/ttl', 'janitor/ttl', 'janitor/expires']);
export type TimeAnnotation = z.infer<typeof TimeAnnotation>;

/** No time or duration is longer. */
export const MAX_ANNOTATION_LENGTH = 64;

/** What the rules about time read of an object, by its kind. */
export const ExpiryFacts = z.discriminatedUnion('of', [
  JobFacts,
  CertificateRequestFacts,
  PodCertificateRequestFacts,
  PodEndFacts,
  AnnotatedFacts,
]);
export type ExpiryFacts = z.infer<typeof ExpiryFacts>;

/** An object whose time has come, by the agent. */
export const ExpiryCandidate = z.object({
  object: z.object({
    ...ClusterObject.shape,
    /** As the API server wrote it; `null` for what is not being deleted. */
    deletionTimestamp: z.string().max(64).nullable(),
    /** What bears the annotation that keeps it. */
    keptBy: z.enum(['object', 'namespace']).nullable(),
  }),
  createdAtMs: StatedMs.nullable(),
  facts: ExpiryFacts,
  /** Not there where the object has none of them. */
  annotations: z.partialRecord(TimeAnnotation, z.string().max(MAX_ANNOTATION_LENGTH)).optional(),
  /** Those of its labels that rules of the policy ask for. Not there where it has none of them, or nobody asks. */
  labels: Labels.optional(),
  /** A controller owns it: then that one says when it goes (cluster S9). */
  isControlled: z.boolean().optional(),
  /** How far the Job is that owns a pod; not there where no Job does (cluster S15). */
  controllingJob: JobState.optional(),
});
export type ExpiryCandidate = z.infer<typeof ExpiryCandidate>;

/** Fact: objects of one cluster whose time has come. */
export const Expiry = z.object({
  type: z.literal('fleetgc.cluster.expiry'),
  version: z.literal(1),
  id: z.string().min(1).max(200),
  ...ClusterIdentity.shape,
  /** As of facts about owners. */
  session: z.uuid(),
  /** Counts the facts of this kind of a session. */
  seq: z.int().nonnegative(),
  takenAt: ClusterInstant,
  candidates: z.array(ExpiryCandidate).min(1).max(MAX_EXPIRING),
  /** By kind, how many objects are over by annotations or rules of the policy, and how many there are (cluster S11). */
  shares: z
    .array(z.object({ kind: ObjectText, over: z.int().nonnegative(), objects: z.int().nonnegative() }))
    .max(MAX_EXPIRING)
    .optional(),
});
export type Expiry = z.infer<typeof Expiry>;
