import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  ListPartsCommand,
  type Part,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';

/** Where an object goes, and how it is encrypted there. */
export type SentObject = Pick<
  CreateMultipartUploadCommandInput,
  'Bucket' | 'Key' | 'ServerSideEncryption' | 'SSEKMSKeyId'
>;

export interface WriteConditions {
  readonly IfNoneMatch?: string;
  readonly IfMatch?: string;
}

/** An upload that somebody began of the same content, and the parts that arrived. */
export interface BegunUpload {
  readonly id: string;
  readonly parts: readonly Part[];
}

interface Sent {
  readonly content: Buffer;
  /** Asked when all parts are there, and it becomes an object. */
  readonly when: WriteConditions;
  /** To go on with; `null`: a new one is begun. */
  readonly begun: BegunUpload | null;
}

/** S3 takes no smaller ones but the last. */
const PART_BYTES = 5 * 1024 * 1024;
/** Ours have far fewer: what comes behind these is none of ours. */
const MOST_PARTS = 1_000;

export const sha256Base64 = (content: Buffer): string =>
  createHash('sha256').update(content).digest('base64');

type UploadPlace = Pick<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'> & {
  readonly UploadId: string | undefined;
};

/** What has arrived of an upload. */
export async function begunUpload(
  client: S3Client,
  { Bucket, Key }: Pick<UploadPlace, 'Bucket' | 'Key'>,
  id: string,
): Promise<BegunUpload> {
  const asked = new ListPartsCommand({ Bucket, Key, UploadId: id, MaxParts: MOST_PARTS });
  const { Parts: parts = [] } = await client.send(asked);
  return { id, parts };
}

/** Where it fails nothing is left of it, if the storage can still be told so; else the next archiver goes on with it, or ends it. */
export async function uploadInParts(
  client: S3Client,
  sent: SentObject,
  { content, when, begun }: Sent,
): Promise<{ readonly ETag?: string | undefined }> {
  const { Bucket, Key } = sent;
  const UploadId = begun?.id ?? (await newUpload(client, sent));
  const upload = { Bucket, Key, UploadId };
  try {
    const parts: CompletedPart[] = [];
    for (let from = 0; from < content.length; from += PART_BYTES) {
      const piece = content.subarray(from, from + PART_BYTES);
      const number = parts.length + 1;
      const kept = begun === null ? null : keptPart(begun, piece, number);
      parts.push(kept ?? (await sendPart(client, upload, piece, number)));
    }
    return await client.send(
      new CompleteMultipartUploadCommand({ ...upload, ...when, MultipartUpload: { Parts: parts } }),
    );
  } catch (error) {
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

async function newUpload(client: S3Client, sent: SentObject): Promise<string | undefined> {
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ ...sent, ChecksumAlgorithm: 'SHA256' }),
  );
  return UploadId;
}

/** The part that arrived, where it is what would be sent now; `null`: nobody can tell that it is. */
function keptPart({ parts }: BegunUpload, content: Buffer, number: number): CompletedPart | null {
  const ChecksumSHA256 = sha256Base64(content);
  const found = parts.find(({ PartNumber }) => PartNumber === number);
  return found?.Size === content.length && found.ChecksumSHA256 === ChecksumSHA256
    ? { ETag: found.ETag, PartNumber: number, ChecksumSHA256 }
    : null;
}

async function sendPart(
  client: S3Client,
  upload: UploadPlace,
  content: Buffer,
  number: number,
): Promise<CompletedPart> {
  const ChecksumSHA256 = sha256Base64(content);
  const { ETag } = await client.send(
    new UploadPartCommand({
      ...upload,
      PartNumber: number,
      Body: content,
      ContentLength: content.length,
      ChecksumSHA256,
    }),
  );
  return { ETag, PartNumber: number, ChecksumSHA256 };
}
