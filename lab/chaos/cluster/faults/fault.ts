import { z } from 'zod';
import { commonFaults, when } from '../../faults/common.ts';
import { SIGNATURES } from '../../faults/forgeries.ts';
import { RESOURCES } from '../fleet/kinds.ts';
import { CLUSTER_POLICY_IDS } from '../policies.ts';
import { CLUSTER_SHAPE } from '../shape.ts';
import { CLUSTER_FORGERIES } from './forgeries.ts';

const COMMON = commonFaults(CLUSTER_SHAPE);
const Resource = z.enum(RESOURCES);

/** What comes in place of a line of a watch. */
export const SPOILT_LINES = ['cut', 'expired', 'no-json', 'no-event'] as const;

/** Everything that may go wrong around a cluster, as data. The row of `table.ts` says how. */
export const ClusterFault = z.discriminatedUnion('kind', [
  z.object({ ...when, kind: z.literal('policy'), policy: z.enum(CLUSTER_POLICY_IDS) }),
  ...Object.values(COMMON),
  /** The executor is killed when it deletes or patches: before the API server has done it, or before it answers. */
  z.object({ ...when, kind: z.literal('kill-at'), moment: z.enum(['before', 'after']) }),
  /** The next line of each watch of a kind is spoilt. */
  z.object({ ...when, kind: z.literal('watch'), resource: Resource, how: z.enum(SPOILT_LINES) }),
  /** What watches tell comes late, and without bookmarks. */
  z.object({ ...when, kind: z.literal('watch-late'), delayMs: z.int().positive() }),
  /** Lists have pages, and some of their second pages have expired. */
  z.object({ ...when, kind: z.literal('pages'), resource: Resource, times: z.int().positive() }),
  /** Most of what is asked is asked too often. */
  z.object({ ...when, kind: z.literal('storm'), part: z.number() }),
  /** Admission refuses to delete and to change objects of a kind. */
  z.object({ ...when, kind: z.literal('refusal'), resource: Resource }),
  /** No role allows anything of a kind. */
  z.object({ ...when, kind: z.literal('no-rights'), resource: Resource }),
  /** What is done is done, and the answer is lost. */
  z.object({ ...when, kind: z.literal('unanswered'), part: z.number() }),
  /** It fails, and says so. */
  z.object({ ...when, kind: z.literal('erring'), part: z.number() }),
  /** It is away, and comes back as it was. */
  z.object({ ...when, kind: z.literal('server-away') }),
  /** It is away, and comes back as it was when the fault began; in between life went on. */
  z.object({ ...when, kind: z.literal('restored') }),
  /** Somebody writes a message in the name of the cluster. */
  z.object({
    ...when,
    kind: z.literal('forge'),
    forgery: z.enum(CLUSTER_FORGERIES),
    signature: z.enum(SIGNATURES),
  }),
  /** The services sign on with a key that counts no more, until they get another one. */
  z.object({ ...when, kind: z.literal('key-revoked') }),
]);
export type ClusterFault = z.infer<typeof ClusterFault>;
export type ClusterFaultKind = ClusterFault['kind'];
