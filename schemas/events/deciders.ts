import { z } from 'zod';
import type { SubjectKind } from './identity.ts';
import { DeciderName } from './object-kinds.ts';

/** Who decides on the objects of clusters. */
export const ClusterDeciderName = z.enum(['graph-gc', 'pod-gc', 'expiry-gc']);
export type ClusterDeciderName = z.infer<typeof ClusterDeciderName>;

/** Who decides about each kind of subject. */
export const DECIDERS = {
  node: DeciderName,
  cluster: ClusterDeciderName,
} as const satisfies { readonly [Kind in SubjectKind]: z.ZodEnum };

export type DeciderNameFor<Kind extends SubjectKind> = z.infer<(typeof DECIDERS)[Kind]>;

/** Who decides, whatever about. */
export const AnyDeciderName = z.enum([...DECIDERS.node.options, ...DECIDERS.cluster.options]);
export type AnyDeciderName = z.infer<typeof AnyDeciderName>;
