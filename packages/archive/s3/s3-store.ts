import { sha256Hex } from '../../canonical/ids.ts';
import { FleetGcError } from '../../process/errors.ts';
import { archiveChanged, isCovered, requireLeftovers } from '../archive-files.ts';
import { begunAhead } from '../begun-ahead.ts';
import {
  FIRST_PART,
  isFileName,
  isLeftUnfinished,
  namesFileName,
  PART_BYTES,
  PARTS_SINCE_VERSION,
  PASS_FILE,
  partName,
  partNumber,
  partsIn,
  passFile,
  startInName,
  UNFINISHED,
} from '../file-names.ts';
import type { ManifestLine } from '../manifest.ts';
import type {
  ArchiveStore,
  FoundFiles,
  S3Encryption,
  S3Place,
  StoredContent,
  WantedFile,
  WritableStore,
} from '../store.ts';
import { type NamedObject, type ReadObject, S3Objects } from './objects.ts';
import type { OpenUpload } from './s3-client.ts';

/** An archive below a prefix of a bucket. */
export function openS3Store(place: S3Place): ArchiveStore {
  const objects = new S3Objects(place, 'reading');
  return {
    name: objects.name,
    readManifest: async () => Buffer.concat((await manifestParts(objects)).map(({ content }) => content)),
    list: () => filesOf(objects),
    passMarks: () => passMarksOf(objects),
    read: (wanted) => contentOf(objects, wanted),
    readEach: (wanted) => begunAhead(wanted, aheadOf(wanted), (one) => contentOf(objects, one)),
    openForWriting: (newId) => openForWriting(place, newId),
    [Symbol.dispose]: () => objects[Symbol.dispose](),
  };
}

/** So much is in memory at most, or one file. */
const AHEAD_BYTES = 32 * 1024 * 1024;

const aheadOf = (wanted: readonly WantedFile[]): number => {
  const largest = wanted.reduce((most, { sizeBytes }) => Math.max(most, sizeBytes), 1);
  return Math.min(READ_AHEAD, Math.floor(AHEAD_BYTES / largest));
};

const filesOf = async (objects: S3Objects): Promise<readonly string[]> =>
  (await objects.list(''))
    .map(({ name }) => name)
    .filter((name) => partNumber(name) === null)
    .toSorted();

/** What a mark says is as long as a number. */
const MOST_MARK_BYTES = 64;

async function passMarksOf(objects: S3Objects): Promise<readonly string[]> {
  const marked = (await objects.list('pass')).filter(({ name }) => PASS_FILE.test(name));
  const read = ({ name }: NamedObject) => objects.get(name, { mostBytes: MOST_MARK_BYTES });
  const marks: string[] = [];
  for await (const got of begunAhead(marked, READ_AHEAD, read))
    if (got.kind === 'object') marks.push(got.content.toString('utf8'));
  return marks;
}

async function contentOf(objects: S3Objects, { file, sizeBytes }: WantedFile): Promise<StoredContent> {
  const got = await objects.get(file, { sizeBytes });
  return got.kind === 'object' ? { kind: 'content', content: got.content } : got;
}

/** Small files that are asked for at the same time: most of the time goes by on the way. */
export const READ_AHEAD = 24;

/** Longer than that a manifest is no text that can be read. */
const MOST_MANIFEST_BYTES = 480 * 1024 * 1024;

/** By so much a part may be larger than the listing said a moment before: others write lines meanwhile. */
const MOST_GROWN_BYTES = 1024 * 1024;

interface NamedPart extends ReadObject {
  readonly name: string;
}

/** The parts of the manifest, in order. Throws `NOT_FOUND` where there is none. */
export async function manifestParts(objects: S3Objects): Promise<readonly NamedPart[]> {
  const listed = await listedParts(objects);
  const parts: NamedPart[] = [];
  let sizeBytes = 0;
  const read = async ({ name, sizeBytes: saidBytes }: NamedObject) => ({
    ...{ name, saidBytes },
    got: await objects.get(name, { mostBytes: saidBytes + MOST_GROWN_BYTES }),
  });
  for await (const { name, saidBytes, got } of begunAhead(listed, READ_AHEAD, read)) {
    if (got.kind === 'other-size') throw otherThanSaid(`${name} in ${objects.name}`, saidBytes);
    // What is missing shows in the chain of the lines.
    if (got.kind === 'missing') continue;
    sizeBytes += got.content.length;
    if (sizeBytes > MOST_MANIFEST_BYTES) throw tooLong(objects.name);
    parts.push({ ...got, name });
  }
  return parts;
}

/** In order, and together not too large: many of them are on their way at the same time. */
async function listedParts(objects: S3Objects): Promise<readonly NamedObject[]> {
  const listed = new Map((await objects.list('manifest')).map((object) => [object.name, object]));
  const parts = partsIn([...listed.keys()]).flatMap((name) => listed.get(name) ?? []);
  if (parts[0]?.name !== FIRST_PART)
    throw new FleetGcError(
      'NOT_FOUND',
      `there is no archive in ${objects.name}: it has no ${FIRST_PART}. See to bucket and prefix, or begin one with "fleetgc audit archive --to ${objects.name}"`,
    );
  if (parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > MOST_MANIFEST_BYTES)
    throw tooLong(objects.name);
  return parts;
}

const tooLong = (name: string): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `the manifest in ${name} is longer than the ${MOST_MANIFEST_BYTES} bytes that are read: begin another archive, in another place`,
  );

const otherThanSaid = (what: string, saidBytes: number): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `${what} has another size than the ${saidBytes} bytes that the listing says: if it stays so, the storage is not to be trusted`,
  );

const TOKEN_DIGITS = 12;

/**
 * Opens an archive for writing. Nothing keeps others away: whoever writes a line replaces the last part of the manifest as it was
 * read, or begins the next, and the storage refuses all but one. The others then have to begin anew.
 */
export async function openForWriting(place: S3Place, newId: () => string): Promise<WritableStore> {
  using opened = new DisposableStack();
  const objects = opened.use(new S3Objects(place, 'writing'));
  const token = sha256Hex(newId()).slice(0, TOKEN_DIGITS);
  await requireConditions(objects, `probe-${token}${UNFINISHED}`);
  opened.move();
  return new WritableS3(objects, token, place.encryption);
}

/** The last part of the manifest as it was read. */
interface LastPart {
  readonly number: number;
  readonly content: Buffer;
  readonly tag: string;
}

/** No two archivers leave more: each has one file in hand. */
const MOST_LEFT = 8;
/** How often a write is tried again that was refused although nobody else wrote. */
const TRIES = 3;

class WritableS3 implements WritableStore {
  /** Tells it from other archivers. */
  readonly #token: string;
  readonly #encryption: S3Encryption | null;
  readonly #objects: S3Objects;
  #last: LastPart | null = null;
  #version = 0;
  #isMarked = false;
  /** What others left. None of it is touched before a line of ours is in the manifest: from then on they cannot add theirs. */
  #left: readonly string[] = [];
  /** What is there under another name: somebody wrote it who was too late. */
  #covered: readonly string[] = [];
  #uploads: readonly OpenUpload[] = [];
  /** Our own, as long as something is left. */
  readonly #added: ManifestLine[] = [];
  #hasLine = false;

  constructor(objects: S3Objects, token: string, encryption: S3Encryption | null) {
    this.#objects = objects;
    this.#token = token;
    this.#encryption = encryption;
  }

  /** The same for all who write the same: so one can go on with what another began, and which of both ends it is all one. */
  nameToken(contents: readonly Buffer[]): string {
    const hashes = contents.map(sha256Hex);
    return sha256Hex(JSON.stringify([hashes, this.#encryption])).slice(0, TOKEN_DIGITS);
  }

  async readManifest(): Promise<Buffer | null> {
    const parts = await manifestParts(this.#objects).catch((error: unknown) => {
      if (error instanceof FleetGcError && error.code === 'NOT_FOUND') return null;
      throw error;
    });
    const last = parts?.at(-1);
    if (parts === null || last === undefined) return null;
    const { name, content, tag } = last;
    this.#last = { number: partNumber(name) ?? 0, content, tag };
    return Buffer.concat(parts.map((part) => part.content));
  }

  async begin(line: ManifestLine): Promise<void> {
    await this.#objects.put(FIRST_PART, lineBytes(line), { absent: true });
  }

  async clear({ manifest, unnamed }: FoundFiles): Promise<void> {
    this.#covered = unnamed.filter((name) => isCovered(name, manifest));
    const others = unnamed.filter((name) => !this.#covered.includes(name));
    await this.#requireLeftovers({ manifest, unnamed: others });
    this.#version = manifest.version;
    this.#left = unnamed.filter((name) => isFileName(name) || isLeftUnfinished(name));
    this.#uploads = await this.#objects.openUploads((name) => isFileName(name) || partNumber(name) !== null);
    if (manifest.isWhole || this.#last === null) return;
    // The end of a line that a killed archiver began, in a copy of a directory.
    const { content } = this.#last;
    this.#last = { ...this.#last, content: content.subarray(0, content.lastIndexOf('\n') + 1) };
  }

  /** Somebody else may have named files since the manifest was read: then he writes, and nothing is wrong. */
  async #requireLeftovers(found: FoundFiles): Promise<void> {
    try {
      requireLeftovers(this.#objects.name, found, MOST_LEFT);
    } catch (error) {
      const tag = (await manifestParts(this.#objects)).at(-1)?.tag;
      throw tag === this.#last?.tag ? error : inUse(this.#objects.name);
    }
  }

  /** Whoever writes that name writes the same. */
  async write(file: string, content: Buffer): Promise<void> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const put = await this.#objects.putOnce(file, content);
      if (put.kind === 'written') return;
      const got = await this.#objects.get(file, { sizeBytes: content.length });
      if (got.kind === 'object' && got.content.equals(content)) return;
      // Refused for another write of ours that the storage still has in hand.
      if (got.kind !== 'missing')
        throw archiveChanged(this.#objects.name, `${file} was written by somebody else`);
    }
    throw inUse(this.#objects.name);
  }

  async append(line: ManifestLine): Promise<void> {
    const last = this.#last;
    if (last === null) throw archiveChanged(this.#objects.name, 'the manifest is missing');
    const isFull = last.content.length >= PART_BYTES && this.#version >= PARTS_SINCE_VERSION;
    const number = isFull ? last.number + 1 : last.number;
    const content = isFull ? lineBytes(line) : Buffer.concat([last.content, lineBytes(line)]);
    const tag = await this.#replace(partName(number), content, isFull ? null : last.tag);
    this.#last = { number, content, tag };
    this.#hasLine = true;
    if (this.#left.length > 0) this.#added.push(line);
  }

  async #replace(name: string, content: Buffer, known: string | null): Promise<string> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const put = await this.#objects.put(name, content, known === null ? { absent: true } : { tag: known });
      const tag = put.kind === 'written' ? put.tag : await this.#ownTag(name, content, known);
      if (tag !== null) return tag;
    }
    throw inUse(this.#objects.name);
  }

  /**
   * The storage may have done what it was asked for, and the answer was lost: then what is there is ours, and this its tag. `null`:
   * there is still what was there before. Throws `STATE_IN_USE` where there is anything else.
   */
  async #ownTag(name: string, content: Buffer, known: string | null): Promise<string | null> {
    const got = await this.#objects.get(name, { mostBytes: content.length });
    if (got.kind === 'object' && got.content.equals(content)) return got.tag;
    if (got.kind === 'missing' && known !== null)
      throw archiveChanged(this.#objects.name, `${name} is missing`);
    if (got.kind === 'missing' || (got.kind === 'object' && got.tag === known)) return null;
    throw inUse(this.#objects.name);
  }

  async markPass(beganMs: number): Promise<void> {
    if (this.#isMarked) return;
    await this.#objects.put(passFile(this.#token), Buffer.from(String(beganMs)), null);
    this.#isMarked = true;
  }

  async unmarkPass(): Promise<void> {
    if (this.#isMarked) await this.#objects.remove(passFile(this.#token));
    this.#isMarked = false;
    if (this.#hasLine) await this.#clearLeft();
  }

  /**
   * All that was there before our first line belongs to archivers that opened the archive before it, and that can add no line any
   * more. A whole file goes only when its records, from the first on, are in the archive under another name.
   */
  async #clearLeft(): Promise<void> {
    for (const upload of this.#uploads) await this.#objects.abort(upload);
    this.#uploads = [];
    const isDone = (name: string): boolean =>
      isLeftUnfinished(name) || this.#covered.includes(name) || this.#isReplaced(name);
    for (const name of this.#left.filter(isDone)) await this.#objects.remove(name);
    this.#left = this.#left.filter((name) => !isDone(name) && !this.#isNamed(name));
  }

  /** Not where a line of ours names the very file: then somebody else had written it. */
  #isReplaced(name: string): boolean {
    const start = startInName(name);
    if (this.#isNamed(name)) return false;
    return this.#added.some(
      (line) =>
        line.kind === 'file' &&
        line.topic === start?.topic &&
        line.partition === start.partition &&
        BigInt(line.firstOffset) <= start.firstOffset &&
        start.firstOffset <= BigInt(line.lastOffset),
    );
  }

  #isNamed(name: string): boolean {
    return this.#added.some(
      (line) => line.kind === 'file' && (line.file === name || namesFileName(line.file) === name),
    );
  }

  [Symbol.dispose](): void {
    this.#objects[Symbol.dispose]();
  }
}

const lineBytes = (line: ManifestLine): Buffer => Buffer.from(`${JSON.stringify(line)}\n`);

const inUse = (name: string): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process writes to the archive in ${name} already: let that one end, or name another place with --to`,
  );

const PROBE = Buffer.from('probe');
const NO_TAG = `"${'0'.repeat(32)}"`;

/**
 * Whether the storage refuses what it is told to write only if nothing else is there: some take every write, and two archivers
 * would write over each other. Throws `CONFIG_INVALID`.
 */
export async function requireConditions(objects: S3Objects, name: string): Promise<void> {
  await objects.put(name, PROBE, { absent: true });
  const again = await objects.put(name, PROBE, { absent: true });
  const changed = await objects.put(name, PROBE, { tag: NO_TAG });
  await objects.remove(name);
  if (again.kind === 'refused' && changed.kind === 'refused') return;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `the storage of ${objects.name} takes conditional writes and does not heed them (If-None-Match, If-Match), so that two archivers would write over each other: use a storage that does, or archive to a directory`,
  );
}
