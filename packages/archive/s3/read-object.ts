import { addAbortSignal, Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';

/** What was read, and by what a later write can tell that it is still that. */
export interface ReadObject {
  readonly content: Buffer;
  readonly tag: string;
}

export type GotObject =
  | ({ readonly kind: 'object' } & ReadObject)
  | { readonly kind: 'missing' }
  /** It is not read at all. */
  | { readonly kind: 'other-size'; readonly sizeBytes: number };

export type WantedSize = { readonly sizeBytes: number } | { readonly mostBytes: number };

/** Its bytes did not come to their end. */
interface BrokenReading {
  readonly kind: 'broken';
  readonly cause: unknown;
}

/** A reading that breaks off is begun anew; the SDK does that only until the first byte. */
const READINGS = 3;
/** Of one object, however slowly its bytes come. */
const READ_MS = 300_000;
/** Of an answer that does not say how much comes. */
const NO_SIZE = -1;

/** Rejects with what the SDK or the connection throws. */
export async function readObject(
  client: S3Client,
  where: { readonly Bucket: string; readonly Key: string },
  size: WantedSize,
): Promise<GotObject> {
  let got = await readOnce(client, where, size);
  for (let reading = 2; got.kind === 'broken' && reading <= READINGS; reading += 1)
    got = await readOnce(client, where, size);
  if (got.kind === 'broken') throw got.cause;
  return got;
}

async function readOnce(
  client: S3Client,
  where: { readonly Bucket: string; readonly Key: string },
  size: WantedSize,
): Promise<GotObject | BrokenReading> {
  const answer = await answerOf(client, where);
  if (answer === null) return { kind: 'missing' };
  const { Body: body, ContentLength: sizeBytes = NO_SIZE, ETag: tag = '' } = answer;
  if (!(body instanceof Readable) || !isOfSize(sizeBytes, size)) {
    if (body instanceof Readable) body.destroy();
    return { kind: 'other-size', sizeBytes };
  }
  try {
    return { kind: 'object', content: await bytesOf(body, sizeBytes), tag };
  } catch (cause) {
    return { kind: 'broken', cause };
  }
}

async function answerOf(
  client: S3Client,
  where: { readonly Bucket: string; readonly Key: string },
): Promise<GetObjectCommandOutput | null> {
  try {
    return await client.send(new GetObjectCommand(where));
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchKey') return null;
    throw error;
  }
}

const isOfSize = (sizeBytes: number, wanted: WantedSize): boolean =>
  'mostBytes' in wanted ? sizeBytes >= 0 && sizeBytes <= wanted.mostBytes : sizeBytes === wanted.sizeBytes;

/** No more than was announced. */
async function bytesOf(stream: Readable, sizeBytes: number): Promise<Buffer> {
  const content = Buffer.allocUnsafeSlow(sizeBytes);
  let end = 0;
  for await (const chunk of addAbortSignal(AbortSignal.timeout(READ_MS), stream)) {
    if (!Buffer.isBuffer(chunk) || end + chunk.length > sizeBytes)
      throw new Error('more bytes came than were announced');
    end += chunk.copy(content, end);
  }
  if (end < sizeBytes) throw new Error('fewer bytes came than were announced');
  return content;
}
