import { createHash } from 'node:crypto';
import { addAbortSignal, Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListPartsCommand,
  type Part,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { FleetGcError } from '../../process/errors.ts';
import { placeText, type S3Place } from '../store.ts';
import {
  encryptionInput,
  type ListedObject,
  listedObjects,
  listedUploads,
  type OpenUpload,
  s3Client,
} from './s3-client.ts';
import { type S3Action, type S3Use, s3Error, statusOf } from './s3-errors.ts';

/** As a listing says it, by its name. */
export type NamedObject = Pick<ListedObject, 'sizeBytes'> & { readonly name: string };

/** Whether an object may be written: where there is none, or where there is still the one that was read. */
type WriteCondition = { readonly absent: true } | { readonly tag: string };

type Written = { readonly kind: 'written'; readonly tag: string } | { readonly kind: 'refused' };

/** @limit Size from which on an object is uploaded in parts. */
const WHOLE_BYTES = 8 * 1024 * 1024;
/** A listing of more names is nobody's archive. */
const MOST_LISTED = 5_000_000;
/** That somebody else wrote before, or at the same moment. */
const REFUSED: readonly (number | null)[] = [409, 412];

/** The objects below the prefix of a place. Names are relative to it. Throws what `s3Error` gives. */
export class S3Objects implements Disposable {
  readonly #place: S3Place;
  readonly #use: S3Use;
  readonly #client: S3Client;

  constructor(place: S3Place, use: S3Use) {
    this.#place = place;
    this.#use = use;
    this.#client = s3Client(place);
  }

  get name(): string {
    return placeText(this.#place);
  }

  async list(beginning: string): Promise<readonly NamedObject[]> {
    const { bucket, prefix } = this.#place;
    const objects = listedObjects(this.#client, { bucket, prefix: `${prefix}${beginning}` });
    const all = await this.#asked('list', () => this.#gathered(objects));
    return all.map(({ key, sizeBytes }) => ({ name: key.slice(prefix.length), sizeBytes }));
  }

  /** Reads nothing but an object of that size; of any up to `mostBytes` where that is given. */
  async get(name: string, size: WantedSize): Promise<GotObject> {
    return await this.#asked('get', () => readObject(this.#client, this.#where(name), size));
  }

  /** `refused`: somebody else wrote meanwhile, or an answer to this very request was lost. */
  async put(name: string, content: Buffer, condition: WriteCondition | null): Promise<Written> {
    return await this.#put(name, { content, begun: null }, condition);
  }

  /** One that nobody writes with another content: what arrived of it before, from whomever, is not sent again. */
  async putOnce(name: string, content: Buffer): Promise<Written> {
    const begun = content.length > WHOLE_BYTES ? await this.#begun(name) : null;
    return await this.#put(name, { content, begun }, { absent: true });
  }

  async #begun(name: string): Promise<BegunUpload | null> {
    const { Key, Bucket: bucket } = this.#where(name);
    const listed = listedUploads(this.#client, { bucket, prefix: Key });
    const open = await this.#asked('uploads', () => this.#gathered(listed));
    const [one] = open.filter(({ key }) => key === Key);
    try {
      return one === undefined ? null : await begunUpload(this.#client, this.#where(name), one.id);
    } catch (error) {
      if (isNoUpload(error)) return null;
      throw this.#error('parts', error);
    }
  }

  async #put(
    name: string,
    { content, begun }: { readonly content: Buffer; readonly begun: BegunUpload | null },
    condition: WriteCondition | null,
  ): Promise<Written> {
    const sent: SentObject = { ...encryptionInput(this.#place.encryption), ...this.#where(name) };
    const when = conditionInput(condition);
    try {
      const put = content.length > WHOLE_BYTES ? uploadInParts : putWhole;
      const { ETag: tag = '' } = await put(this.#client, sent, { content, when, begun });
      return { kind: 'written', tag };
    } catch (error) {
      const isRefused = REFUSED.includes(statusOf(error)) || isNoUpload(error);
      if (condition !== null && isRefused) return { kind: 'refused' };
      throw this.#error('put', error);
    }
  }

  async remove(name: string): Promise<void> {
    await this.#asked('delete', () => this.#client.send(new DeleteObjectCommand(this.#where(name))));
  }

  /** Those of objects with such names. */
  async openUploads(isWanted: (name: string) => boolean): Promise<readonly OpenUpload[]> {
    const all = await this.#asked('uploads', () => this.#gathered(listedUploads(this.#client, this.#place)));
    return all.filter(({ key }) => isWanted(key.slice(this.#place.prefix.length)));
  }

  /** One that is gone by now is no failure. */
  async abort({ key: Key, id: UploadId }: OpenUpload): Promise<void> {
    try {
      const { bucket: Bucket } = this.#place;
      await this.#client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    } catch (error) {
      if (!isNoUpload(error)) throw this.#error('abort', error);
    }
  }

  [Symbol.dispose](): void {
    this.#client.destroy();
  }

  #where(name: string): { readonly Bucket: string; readonly Key: string } {
    const { bucket, prefix } = this.#place;
    return { Bucket: bucket, Key: `${prefix}${name}` };
  }

  async #gathered<Each>(each: AsyncIterable<Each>): Promise<readonly Each[]> {
    const all: Each[] = [];
    for await (const one of each) if (all.push(one) > MOST_LISTED) throw tooMany(this.name);
    return all;
  }

  #error(action: S3Action, cause: unknown): FleetGcError {
    return s3Error(cause, { place: this.#place, action, use: this.#use });
  }

  async #asked<Answer>(action: S3Action, ask: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      throw this.#error(action, error);
    }
  }
}

/** Whoever else had it in hand has ended it. */
const isNoUpload = (error: unknown): boolean => error instanceof Error && error.name === 'NoSuchUpload';

const putWhole: typeof uploadInParts = async (client, sent, { content, when }) =>
  await client.send(
    new PutObjectCommand({
      ...sent,
      ...when,
      Body: content,
      ContentLength: content.length,
      ChecksumSHA256: sha256Base64(content),
    }),
  );

const conditionInput = (condition: WriteCondition | null): WriteConditions => {
  if (condition === null) return {};
  return 'tag' in condition ? { IfMatch: condition.tag } : { IfNoneMatch: '*' };
};

const tooMany = (name: string): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `${name} holds more than ${MOST_LISTED} objects: no archive has so many`,
  );

/** What was read, and by what a later write can tell that it is still that. */
export interface ReadObject {
  readonly content: Buffer;
  readonly tag: string;
}

type GotObject =
  | ({ readonly kind: 'object' } & ReadObject)
  | { readonly kind: 'missing' }
  /** It is not read at all. */
  | { readonly kind: 'other-size'; readonly sizeBytes: number };

type WantedSize = { readonly sizeBytes: number } | { readonly mostBytes: number };

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
async function readObject(
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

/** Where an object goes, and how it is encrypted there. */
type SentObject = Pick<
  CreateMultipartUploadCommandInput,
  'Bucket' | 'Key' | 'ServerSideEncryption' | 'SSEKMSKeyId'
>;

interface WriteConditions {
  readonly IfNoneMatch?: string;
  readonly IfMatch?: string;
}

/** An upload that somebody began of the same content, and the parts that arrived. */
interface BegunUpload {
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
async function begunUpload(
  client: S3Client,
  { Bucket, Key }: Pick<UploadPlace, 'Bucket' | 'Key'>,
  id: string,
): Promise<BegunUpload> {
  const asked = new ListPartsCommand({ Bucket, Key, UploadId: id, MaxParts: MOST_PARTS });
  const { Parts: parts = [] } = await client.send(asked);
  return { id, parts };
}

/** Where it fails nothing is left of it, if the storage can still be told so; else the next archiver goes on with it, or ends it. */
async function uploadInParts(
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
