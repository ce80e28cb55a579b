import { z } from 'zod';
import { type ObjectForm, type ObjectMetadata, readMetadata, wholeForm } from './metadata.ts';

/** What an object can be created with again, or why that cannot be told. */
type ReadManifest =
  | {
      readonly kind: 'manifest';
      readonly text: string;
      /** What the server says it is: some answer in another form or version than they were asked for. */
      readonly of: Pick<z.infer<typeof Whole>, 'apiVersion' | 'kind'>;
    }
  | { readonly kind: 'unreadable'; readonly message: string };

export interface WithManifest extends ObjectMetadata {
  readonly manifest: ReadManifest;
}

/** etcd takes 1.5 MiB; with what servers add in JSON an object has some more. */
const MAX_OBJECT_BYTES = 8 * 1024 * 1024;

const Whole = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({}),
});

/** What the API server sets, and who owned it: an object that names owners that are gone would go again at once. */
const SET_BY_SERVER: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
  'ownerReferences',
]);
const STATUS: ReadonlySet<string> = new Set(['status']);

/** Whole objects, as they can be created again. */
export const MANIFEST_FORM: ObjectForm<WithManifest> = {
  ...wholeForm((value) => {
    const metadata = readMetadata(value);
    return metadata && { ...metadata, manifest: readManifest(value) };
  }),
  mostAnswerBytes: MAX_OBJECT_BYTES,
};

function readManifest(value: unknown): ReadManifest {
  const parsed = Whole.safeParse(value);
  if (!parsed.success) return unreadable('the answer is no such object');
  const { metadata, ...rest } = parsed.data;
  const { text, isExact } = written({ ...without(rest, STATUS), metadata: without(metadata, SET_BY_SERVER) });
  const { apiVersion, kind } = parsed.data;
  return isExact
    ? { kind: 'manifest', text, of: { apiVersion, kind } }
    : unreadable('it has a number of more than 53 bits, which would not come back as it was');
}

const unreadable = (message: string): ReadManifest => ({ kind: 'unreadable', message });

const without = (fields: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));

/** A whole number of more than 53 bits was rounded when it was parsed, to one that has as many. */
function written(manifest: object): { readonly text: string; readonly isExact: boolean } {
  let isExact = true;
  const text = JSON.stringify(manifest, (_name, value: unknown) => {
    isExact &&= typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value);
    return value;
  });
  return { text, isExact };
}
