import { begunAhead } from '../begun-ahead.ts';
import { partNumber } from '../store/manifest-parts.ts';
import { PASS_FILE } from '../store/names.ts';
import type { S3Place } from '../store/place.ts';
import type { ArchiveStore, StoredContent, WantedFile } from '../store/port.ts';
import { type NamedObject, S3Objects } from './objects.ts';
import { manifestParts, READ_AHEAD } from './s3-manifest.ts';
import { openForWriting } from './s3-writing.ts';

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
