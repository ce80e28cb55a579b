import { type ObjectMetadata, readMetadata } from './metadata.ts';

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
