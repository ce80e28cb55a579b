import { Agent } from 'node:https';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Encryption, S3Place } from '../store.ts';

/**
 * Of one request, with what it waits for in between, and the last failure is told.
 * @limit Attempts of one request to object storage.
 */
const MOST_ATTEMPTS = 5;
const CONNECT_MS = 10_000;
/** Without a byte. */
const SILENT_MS = 60_000;
const CONNECTIONS = 32;

/** A client whose credentials come from where those of AWS's own tools come from. Nothing is asked of anybody yet. */
export function s3Client({ endpoint, region, pathStyle, caPem }: S3Place): S3Client {
  const agent = { keepAlive: true, maxSockets: CONNECTIONS };
  const trusted = caPem === null ? {} : { ca: [...rootCertificates, caPem] };
  const client = new S3Client({
    ...(endpoint !== null && { endpoint }),
    ...(region !== null && { region }),
    forcePathStyle: pathStyle,
    maxAttempts: MOST_ATTEMPTS,
    retryMode: 'standard',
    // What is written has a checksum of ours, and what is read is compared with the manifest.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: SILENT_MS,
      socketTimeout: SILENT_MS,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: new Agent({ ...agent, ...trusted }),
    },
  });
  boundAnswers(client);
  return client;
}

/** What a new object is to be encrypted with. */
export function encryptionInput(
  encryption: S3Encryption | null,
): Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'> {
  if (encryption === null) return {};
  if (encryption.kind === 'sse-s3') return { ServerSideEncryption: 'AES256' };
  const { keyId } = encryption;
  return { ServerSideEncryption: 'aws:kms', ...(keyId !== null && { SSEKMSKeyId: keyId }) };
}

/** Of whatever is no object: a thousand names, or a reason. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

interface Answer {
  readonly statusCode: number;
  body: Readable;
}

const isAnswer = (response: unknown): response is Answer =>
  typeof response === 'object' &&
  response !== null &&
  'statusCode' in response &&
  typeof response.statusCode === 'number' &&
  'body' in response &&
  response.body instanceof Readable;

/** The content of an object is read by `readObject`, which knows how much there is to come. */
const isObject = (commandName: string | undefined, { statusCode }: Answer): boolean =>
  commandName === 'GetObjectCommand' && statusCode < 300;

/** Has the SDK read no answer that is longer than any can be, whoever gives it. */
function boundAnswers(client: S3Client): void {
  const bounding =
    <Args, Result extends { readonly response: unknown }>(
      next: (args: Args) => Promise<Result>,
      { commandName }: { readonly commandName?: string },
    ) =>
    async (args: Args): Promise<Result> => {
      const result = await next(args);
      const { response } = result;
      if (isAnswer(response) && !isObject(commandName, response)) response.body = bounded(response.body);
      return result;
    };
  client.middlewareStack.addRelativeTo(bounding, {
    relation: 'after',
    toMiddleware: 'deserializerMiddleware',
    name: 'boundAnswers',
  });
}

function bounded(body: Readable): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform: (chunk: Buffer, _: BufferEncoding, done: TransformCallback) => {
      bytes += chunk.length;
      done(bytes > MOST_ANSWER_BYTES ? tooLong() : null, chunk);
    },
  });
  limit.on('error', () => body.destroy());
  body.on('error', (error) => limit.destroy(error));
  return body.pipe(limit);
}

const tooLong = (): Error => new Error(`the answer has more than ${MOST_ANSWER_BYTES} bytes`);

/** What is listed: all keys that begin so. */
interface Listed {
  readonly bucket: string;
  readonly prefix: string;
}

export interface ListedObject {
  readonly key: string;
  /** As the listing says it: somebody may write a larger one meanwhile. */
  readonly sizeBytes: number;
}

/** An upload in parts that was begun and not ended. */
export interface OpenUpload {
  readonly key: string;
  readonly id: string;
}

/** In the order of their bytes. What only stands for a folder is left out. */
export async function* listedObjects(
  client: S3Client,
  { bucket, prefix }: Listed,
): AsyncGenerator<ListedObject, void> {
  const bounds = new ListingBounds();
  let from: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: from }),
    );
    for (const { Key: named = '', Size: size } of bounds.take(prefix, page.Contents)) {
      const key = bounds.own(named);
      if (!key.endsWith('/')) yield { key, sizeBytes: bounds.size(size) };
    }
    from = goingOn(from, page.IsTruncated ? page.NextContinuationToken : undefined);
  } while (from !== undefined);
}

export async function* listedUploads(
  client: S3Client,
  { bucket, prefix }: Listed,
): AsyncGenerator<OpenUpload, void> {
  const bounds = new ListingBounds();
  let from: UploadMarker | null = {};
  while (from !== null) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...from }),
    );
    for (const { Key: key = '', UploadId: id } of bounds.take(prefix, page.Uploads))
      if (id !== undefined) yield { key: bounds.own(key), id: bounds.own(id) };
    from = goingOn(from, nextMarker(page));
  }
}

/** Where the next page begins; throws when it is where this one began, for then the listing has no end. */
function goingOn<Place>(from: Place, next: Place): Place {
  if (next !== undefined && next !== null && isDeepStrictEqual(from, next))
    throw new Error('the listing has no end: the same page comes again and again');
  return next;
}

interface UploadMarker {
  readonly KeyMarker?: string;
  readonly UploadIdMarker?: string;
}

function nextMarker(page: ListMultipartUploadsCommandOutput): UploadMarker | null {
  const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = page;
  if (!IsTruncated || NextKeyMarker === undefined) return null;
  return {
    KeyMarker: NextKeyMarker,
    ...(NextUploadIdMarker !== undefined && { UploadIdMarker: NextUploadIdMarker }),
  };
}

/** S3 has no longer keys; the ids of uploads are shorter. */
const MOST_NAME_BYTES = 1024;
/** Together the names of the files of the largest manifest have less. */
const MOST_NAMES_BYTES = 256 * 1024 * 1024;
/** Storage may give a page with no names, where names were deleted. */
const MOST_EMPTY_PAGES = 100;

/** What one listing may say, whoever gives it, and however many pages it has. */
export class ListingBounds {
  #emptyPages = 0;
  #bytes = 0;

  /** What of a page was asked for. */
  take<Each extends { readonly Key?: string | undefined }>(
    prefix: string,
    page: readonly Each[] = [],
  ): readonly Each[] {
    const asked = page.filter(({ Key }) => Key?.startsWith(prefix));
    if (asked.length === 0) this.#emptyPages += 1;
    if (this.#emptyPages > MOST_EMPTY_PAGES)
      throw new Error(
        `the listing has no end: ${MOST_EMPTY_PAGES} of its pages name nothing that was asked for`,
      );
    return asked;
  }

  /** Sums of sizes bound what is asked for, and one that is negative or no number would undo that. */
  size(sizeBytes = 0): number {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
      throw new Error('the listing gives an object a size that is no number of bytes');
    return sizeBytes;
  }

  /** The name as a text that does not keep all of its page in memory. */
  own(name: string): string {
    const bytes = Buffer.from(name);
    if (bytes.length > MOST_NAME_BYTES)
      throw new Error(`the listing has a name of more than ${MOST_NAME_BYTES} bytes`);
    this.#bytes += bytes.length;
    if (this.#bytes > MOST_NAMES_BYTES)
      throw new Error(`the names in the listing have more than ${MOST_NAMES_BYTES} bytes`);
    return bytes.toString();
  }
}
