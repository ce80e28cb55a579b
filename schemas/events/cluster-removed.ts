import { z } from 'zod';
import { ClusterObject, ObjectText } from './cluster-objects.ts';
import { EventId } from './event-id.ts';
import { ObjectUid } from './identity.ts';
import { ABOUT, resultHeader } from './subject-headers.ts';

/**
 * A manifest as the text of a record, where each quotation mark takes two bytes: etcd takes objects of 1.5 MiB. With all that stands
 * beside it a record stays below the bound of its topic, and so below that of the log.
 * @limit Size of a manifest saved before a deletion. An object that cannot be saved is not deleted.
 */
export const MAX_MANIFEST_BYTES = 3 * 1024 * 1024;
/** What is told of a manifest before it is parsed. The schema of a definition is deeper, and has more in it, than anything else. */
export const MANIFEST_BOUNDS = { depth: 200, elements: 500_000 } as const;
/** So many owners of an object are told. */
export const MAX_OWNERS_SAVED = 100;

/** Why of an object no more than its name is saved, and it goes all the same. */
export const ManifestLeftOut = z.enum([
  /** It is a Secret, or of a kind that holds tokens or passwords as a Secret does. */
  'secret',
  /** The policy excepts its kind. */
  'excepted',
]);
export type ManifestLeftOut = z.infer<typeof ManifestLeftOut>;

/**
 * Fact: what an object was in the state in which its deletion is asked for next. It lies on the log before the API server is asked,
 * so whether the object went is told by the result of the command alone.
 */
export const ClusterRemoved = z.object({
  type: z.literal('fleetgc.cluster.removed'),
  ...resultHeader(ABOUT.cluster),
  decisionId: EventId,
  /** In the state that is deleted, and no other one. */
  object: ClusterObject,
  rule: z.string().max(10),
  /** As the object named them. */
  owners: z
    .array(z.object({ apiVersion: ObjectText, kind: ObjectText, name: ObjectText, uid: ObjectUid }))
    .max(MAX_OWNERS_SAVED),
  saved: z.discriminatedUnion('as', [
    /** JSON, without what no object can be created with. */
    z.object({ as: z.literal('manifest'), manifest: z.string().min(2).max(MAX_MANIFEST_BYTES) }),
    z.object({ as: z.literal('name'), because: ManifestLeftOut }),
  ]),
});
export type ClusterRemoved = z.infer<typeof ClusterRemoved>;
export type SavedAs = ClusterRemoved['saved'];
