import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
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

interface Sent {
  readonly content: Buffer;
  /** Asked when all parts are there, and it becomes an object. */
  readonly when: WriteConditions;
}

/** S3 takes no smaller ones but the last. */
const PART_BYTES = 5 * 1024 * 1024;

export const sha256Base64 = (content: Buffer): string =>
  createHash('sha256').update(content).digest('base64');

/** Where it fails nothing is left of it, if the storage can still be told so; else the next archiver ends it. */
export async function uploadInParts(
  client: S3Client,
  sent: SentObject,
  { content, when }: Sent,
): Promise<{ readonly ETag?: string | undefined }> {
  const { Bucket, Key } = sent;
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ ...sent, ChecksumAlgorithm: 'SHA256' }),
  );
  const upload = { Bucket, Key, UploadId };
  try {
    const parts: CompletedPart[] = [];
    for (let from = 0; from < content.length; from += PART_BYTES)
      parts.push(await sendPart(client, upload, content.subarray(from, from + PART_BYTES), parts.length + 1));
    return await client.send(
      new CompleteMultipartUploadCommand({ ...upload, ...when, MultipartUpload: { Parts: parts } }),
    );
  } catch (error) {
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

async function sendPart(
  client: S3Client,
  upload: Pick<CreateMultipartUploadCommandInput, 'Bucket' | 'Key'> & {
    readonly UploadId: string | undefined;
  },
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
