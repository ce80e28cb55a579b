import { z } from 'zod';

const MAX_NAME_LENGTH = 253;
const Name = z.string().max(MAX_NAME_LENGTH);

const OwnerReference = z
  .looseObject({
    apiVersion: Name.min(1),
    kind: Name.min(1),
    name: Name.min(1),
    uid: Name.min(1),
    controller: z.boolean().optional(),
  })
  .refine(({ apiVersion, kind }) => apiVersion !== 'v1' || kind !== 'Event', {
    error: 'an Event owns nothing',
  });
const isOnlyController = (references: readonly z.infer<typeof OwnerReference>[]): boolean =>
  references.filter(({ controller }) => controller === true).length <= 1;

/** What a writer may say of an object; what is not named here is kept as it was written. */
const WrittenMetadata = z.looseObject({
  name: Name.regex(/^[^/%]+$/),
  namespace: Name.optional(),
  uid: Name.optional(),
  resourceVersion: Name.optional(),
  finalizers: z.array(Name.min(1)).default([]),
  ownerReferences: z
    .array(OwnerReference)
    .refine(isOnlyController, { error: 'only one reference may have controller: true' })
    .default([]),
});
export const WrittenObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: WrittenMetadata,
});
export type WrittenObject = z.infer<typeof WrittenObject>;

/** An object as it is stored; a write makes another one. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiMetadata;
  readonly [field: string]: unknown;
}

export interface ApiMetadata {
  readonly name: string;
  /** Not there for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers: readonly string[];
  readonly ownerReferences: readonly object[];
  readonly [field: string]: unknown;
}

/** In whole seconds. */
export const apiTime = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d+Z$/, 'Z');

/** As it is told: empty lists are left away. */
export function toldObject(object: ApiObject): object {
  const { finalizers, ownerReferences, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
  };
}
