import { isDeepStrictEqual } from 'node:util';
import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ListingBounds } from './listing-bounds.ts';

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
