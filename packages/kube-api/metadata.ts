import { z } from 'zod';
import { UNKNOWN_OWNERS_UID } from '../../schemas/events/cluster-objects.ts';

/** What is read of any object: its metadata, bounded. */
export interface ObjectMetadata {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp: string | null;
  readonly finalizers: readonly string[];
  readonly ownerReferences: readonly ApiOwnerReference[];
  readonly keep: boolean;
}

export interface ApiOwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** `null` where it is not written: both stay as they are when the list is written again (cluster D11). */
  readonly controller: boolean | null;
  readonly blockOwnerDeletion: boolean | null;
}

/** Keeps an object, and all that lies in a namespace that has it. */
const KEEP_ANNOTATION = 'fleetgc.io/keep';

/** The longest name of an object, of a kind, and what stands in a qualified name. */
const MAX_TEXT_LENGTH = 320;
const MAX_UID_LENGTH = 128;
/** An object with more is kept by every rule, so no more of them is held in memory. */
const MAX_REFERENCES = 200;
const MAX_FINALIZERS = 100;

const Uid = z.string().min(1).max(MAX_UID_LENGTH);
const Reference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string().min(1),
  controller: z.boolean().nullish(),
  blockOwnerDeletion: z.boolean().nullish(),
});
/** Only whether one of them is there is asked: looking at each of all would be most of the work. */
const Annotations = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const Metadata = z.object({
  metadata: z.object({
    name: z.string().min(1).max(MAX_TEXT_LENGTH),
    namespace: z.string().max(MAX_TEXT_LENGTH).nullish(),
    uid: Uid,
    resourceVersion: z.string().min(1).max(MAX_UID_LENGTH),
    deletionTimestamp: z.string().max(64).nullish(),
    finalizers: z.array(z.string()).nullish(),
    ownerReferences: z.array(Reference).nullish(),
    annotations: Annotations.nullish(),
  }),
});

/**
 * `null` for what is no object. References and finalizers beyond all bounds are replaced so that nothing can be concluded from
 * them: the object is known and stays.
 */
export function readMetadata(value: unknown): ObjectMetadata | null {
  const parsed = Metadata.safeParse(value);
  if (!parsed.success) return null;
  const { metadata } = parsed.data;
  if (!metadata.name.isWellFormed() || !metadata.uid.isWellFormed()) return null;
  return {
    namespace: (metadata.namespace ?? '').toWellFormed(),
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion.toWellFormed(),
    deletionTimestamp: metadata.deletionTimestamp?.toWellFormed() ?? null,
    finalizers: boundedFinalizers(metadata.finalizers ?? []),
    ownerReferences: boundedReferences(metadata.ownerReferences ?? []),
    keep: Object.hasOwn(metadata.annotations ?? {}, KEEP_ANNOTATION),
  };
}

const Unnameable = z.object({
  metadata: z.object({
    name: z.string().min(MAX_TEXT_LENGTH + 1),
    uid: Uid,
    resourceVersion: z.string().min(1).max(MAX_UID_LENGTH),
  }),
});

/**
 * The resourceVersion of an object whose name is beyond all bounds, as roles and certificate requests may have it; `null` for all
 * else. Nothing can be said or ordered of it, so it is passed over and stays, and all others of its kind are read.
 */
export const unnameableVersion = (value: unknown): string | null =>
  Unnameable.safeParse(value).data?.metadata.resourceVersion ?? null;

const isBounded = (text: string, most: number): boolean => text.length <= most && text.isWellFormed();

/** No kind has this apiVersion, so a reference with it is never resolved and its object is kept. */
export const UNREADABLE = 'unreadable.fleetgc.io/v1';

function boundedReferences(references: readonly z.infer<typeof Reference>[]): ApiOwnerReference[] {
  const bounded = references.slice(0, MAX_REFERENCES).map(boundedReference);
  return references.length <= MAX_REFERENCES ? bounded : [...bounded, UNREADABLE_REFERENCE];
}

function boundedReference(reference: z.infer<typeof Reference>): ApiOwnerReference {
  const { apiVersion, kind, name, uid } = reference;
  if (!isBounded(uid, MAX_UID_LENGTH)) return UNREADABLE_REFERENCE;
  const isReadable = [apiVersion, kind, name].every((text) => isBounded(text, MAX_TEXT_LENGTH));
  return {
    ...(isReadable ? { apiVersion, kind, name } : { apiVersion: UNREADABLE, kind: 'Unreadable', name: '-' }),
    uid,
    controller: reference.controller ?? null,
    blockOwnerDeletion: reference.blockOwnerDeletion ?? null,
  };
}

/** Stands for references that are not kept: whose object has it is kept. */
export const UNREADABLE_REFERENCE: ApiOwnerReference = {
  apiVersion: UNREADABLE,
  kind: 'Unreadable',
  name: '-',
  uid: UNKNOWN_OWNERS_UID,
  controller: null,
  blockOwnerDeletion: null,
};

/** What is cut away is somebody's finalizer: a sign in its place says that there is one. */
function boundedFinalizers(finalizers: readonly string[]): readonly string[] {
  if (finalizers.length === 0) return finalizers;
  const bounded = finalizers
    .slice(0, MAX_FINALIZERS)
    .map((each) => (isBounded(each, MAX_TEXT_LENGTH) ? each : UNREADABLE));
  return finalizers.length <= MAX_FINALIZERS ? bounded : [...bounded, UNREADABLE];
}

/** In which form objects of a kind are asked for, and what is read of each. */
export interface ObjectForm<Seen extends ObjectMetadata = ObjectMetadata> {
  readonly accept: string;
  readonly acceptList: string;
  /** A larger object is not read; the connection's own bound where it is not given. */
  readonly mostAnswerBytes?: number;
  /** `null` for what is no object. */
  readonly read: (value: unknown) => Seen | null;
}

const METADATA = 'g=meta.k8s.io;v=v1';
export const AS_METADATA = `application/json;as=PartialObjectMetadata;${METADATA}`;

/** Metadata alone: the API server leaves the rest away. */
export const METADATA_FORM: ObjectForm = {
  accept: AS_METADATA,
  acceptList: `application/json;as=PartialObjectMetadataList;${METADATA}`,
  read: readMetadata,
};

const JSON_TYPE = 'application/json';

/** Whole objects, of which little is kept: what else is read stands in no metadata. */
export const wholeForm = <Seen extends ObjectMetadata>(
  read: (value: unknown) => Seen | null,
): ObjectForm<Seen> => ({ accept: JSON_TYPE, acceptList: JSON_TYPE, read });

/** The owner that manages an object; `null` where none does. One that cannot be read may be it. */
export const controllerOf = (references: readonly ApiOwnerReference[]): ApiOwnerReference | null =>
  references.find(({ controller }) => controller === true) ??
  references.find(({ apiVersion }) => apiVersion === UNREADABLE) ??
  null;

/** Whether it is a Job, which counts its pods until it is finished. What cannot be read may be one. */
export const mayBeJob = ({ apiVersion, kind }: Pick<ApiOwnerReference, 'apiVersion' | 'kind'>): boolean =>
  apiVersion === UNREADABLE || (kind === 'Job' && apiVersion.startsWith('batch/'));

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Epoch milliseconds of a time as an API server writes it; `null` for what is none, and for the zero time. */
export function timeMs(text: string | null | undefined): number | null {
  if (text === null || text === undefined || !RFC_3339.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || atMs < 0 ? null : atMs;
}

/** A time that may be missing, or unreadable: then nothing follows from it. */
export const ApiTime = z.string().nullish().catch(null).transform(timeMs);

/** An object with when it was created: of that the owner graph keeps nothing. */
export interface Created extends ObjectMetadata {
  /** Epoch milliseconds, in whole seconds; `null` for an object that does not say. */
  readonly createdAtMs: number | null;
}

const Creation = z.object({ metadata: z.object({ creationTimestamp: ApiTime }) });

/** No larger answer than metadata alone. */
export const CREATED_FORM: ObjectForm<Created> = {
  ...METADATA_FORM,
  read: (value) => {
    const metadata = readMetadata(value);
    const createdAtMs = Creation.safeParse(value).data?.metadata.creationTimestamp ?? null;
    return metadata && { ...metadata, createdAtMs };
  },
};
