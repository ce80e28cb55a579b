import { z } from 'zod';
import { METADATA_FORM, type ObjectForm } from '../form.ts';
import { type ObjectMetadata, readMetadata } from '../metadata.ts';
import { ApiTime } from './times.ts';

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
