/** Where an archive is: a directory, or below a prefix of a bucket. It can be handed to threads. */
export type ArchivePlace = string | S3Place;

export interface S3Place {
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
  /** `null`: that of AWS in the region. */
  readonly endpoint: string | null;
  /** `null`: what the environment or the profile says. */
  readonly region: string | null;
  /** The bucket stands in the path, and not in the name of the host. */
  readonly pathStyle: boolean;
  /** What new objects are encrypted with; `null`: what the bucket says. */
  readonly encryption: S3Encryption | null;
  /** Whom to trust besides the usual authorities; PEM. */
  readonly caPem: string | null;
}

export type S3Encryption =
  | { readonly kind: 'sse-s3' }
  /** `null`: the key of the bucket, or that of AWS. */
  | { readonly kind: 'sse-kms'; readonly keyId: string | null };

/** As people name it. */
export const placeText = (place: ArchivePlace): string =>
  typeof place === 'string'
    ? place
    : `s3://${place.bucket}/${place.prefix.replace(/\/$/, '')}`.replace(/\/$/, '');
