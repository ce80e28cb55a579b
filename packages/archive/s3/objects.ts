import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { FleetGcError } from '../../process/errors.ts';
import { placeText, type S3Place } from '../store/place.ts';
import { type ListedObject, listedObjects, listedUploads, type OpenUpload } from './listing.ts';
import { type GotObject, readObject, type WantedSize } from './read-object.ts';
import { encryptionInput, s3Client } from './s3-client.ts';
import { type S3Action, type S3Use, s3Error, statusOf } from './s3-errors.ts';
import {
  type BegunUpload,
  begunUpload,
  type SentObject,
  sha256Base64,
  uploadInParts,
  type WriteConditions,
} from './upload-in-parts.ts';

/** As a listing says it, by its name. */
export type NamedObject = Pick<ListedObject, 'sizeBytes'> & { readonly name: string };

/** Whether an object may be written: where there is none, or where there is still the one that was read. */
export type WriteCondition = { readonly absent: true } | { readonly tag: string };

export type Written = { readonly kind: 'written'; readonly tag: string } | { readonly kind: 'refused' };

/** Larger objects go in parts. */
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
