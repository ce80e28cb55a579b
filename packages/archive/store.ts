import type { Manifest, ManifestLine } from './manifest.ts';

/** A file by its name in the archive, which has slashes between folders, and so large as it is said to be. */
export interface WantedFile {
  readonly file: string;
  readonly sizeBytes: number;
}

export type StoredContent =
  | { readonly kind: 'content'; readonly content: Buffer }
  | { readonly kind: 'missing' }
  /** It is not read at all. */
  | { readonly kind: 'other-size'; readonly sizeBytes: number }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Where the files of an archive are. What is read is compared with the manifest by whoever asks. */
export interface ArchiveStore extends Disposable {
  /** As people name it. */
  readonly name: string;
  /** The manifest as it is now, all parts of it. Throws `NOT_FOUND` where there is none. */
  readManifest(): Promise<Buffer>;
  /** The names of all other files, in order, but not of what only keeps others away. */
  list(): Promise<readonly string[]>;
  /** The content of each mark that an archiver left which has not come to the end of its pass. */
  passMarks(): Promise<readonly string[]>;
  read(wanted: WantedFile): Promise<StoredContent>;
  /** Many small files, in order. A content is there until the next is asked for. */
  readEach(wanted: readonly WantedFile[]): AsyncIterable<StoredContent>;
  /** For the one process that writes; `newId` gives a new unique id. Throws `STATE_IN_USE` and `STATE_UNWRITABLE`. */
  openForWriting(newId: () => string): Promise<WritableStore>;
}

/** What was found when an archive was opened for writing. */
export interface FoundFiles {
  readonly manifest: Manifest;
  /** Those that the manifest does not name. */
  readonly unnamed: readonly string[];
}

/** Every method throws `STATE_UNWRITABLE`, and then the archive has to be opened anew. */
export interface WritableStore extends Disposable {
  /** Stands in the name of a file with this content, and of its index; `null` where nobody else can write meanwhile. */
  nameToken(contents: readonly Buffer[]): string | null;
  /** `null` where no archive was begun. */
  readManifest(): Promise<Buffer | null>;
  /** Begins the manifest with this line, unless somebody else did. */
  begin(line: ManifestLine): Promise<void>;
  /** What a killed archiver left half done is cleared away, now or when nobody can need it any more. Throws `ARCHIVE_CHANGED`. */
  clear(found: FoundFiles): Promise<void>;
  /** A whole file, or none. */
  write(file: string, content: Buffer): Promise<void>;
  /** The next line of the manifest that was read. Throws `STATE_IN_USE` when somebody else wrote one since. */
  append(line: ManifestLine): Promise<void>;
  /** The first that did not come to its end counts. */
  markPass(beganMs: number): Promise<void>;
  unmarkPass(): Promise<void>;
}

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
