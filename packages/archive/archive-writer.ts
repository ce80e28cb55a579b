import type { TopicName } from '../../schemas/events/topics.ts';
import type { OutgoingRecord } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { requireManifest, unnamedOf } from './archive-files.ts';
import type { FoundArchive } from './found-lines.ts';
import type { Manifest } from './manifest.ts';
import {
  ARCHIVE_VERSION,
  type ArchivedFile,
  type ArchivedHead,
  type ArchiveGap,
  chained,
  type ManifestContent,
} from './manifest-entry.ts';
import type { OpenRange } from './open-ranges.ts';
import { type FileContent, written } from './place-files.ts';
import { FIRST_PART } from './store/manifest-parts.ts';
import { UNFINISHED } from './store/names.ts';
import { openStore } from './store/open-store.ts';
import type { ArchivePlace } from './store/place.ts';
import type { ArchiveStore, WritableStore } from './store/port.ts';
import { type UnsignedHead, unsignedHead } from './unsigned-head.ts';

/** Where a partition ends in the archive. */
export interface ArchivedEnd {
  readonly lastOffset: bigint;
  /** When the log got that record; `null` when it was lost before it was archived. */
  readonly lastMs: number | null;
}

/** What a new archive needs from outside. */
export interface ArchiveSources {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A new unique id. */
  readonly newId: () => string;
}

/** An archive in the hands of the one process that writes to it. */
export interface ArchiveWriter extends Disposable {
  /** `null` when the archive has nothing of the partition. */
  endOf(topic: TopicName, partition: number): ArchivedEnd | null;
  /** Adds a file: wholly, or not at all. After a failure the archive has to be opened anew, as after a kill. */
  addFile(range: OpenRange, content: FileContent): Promise<void>;
  addGap(gap: Omit<ArchiveGap, 'kind'>): Promise<void>;
  /** With what is added from here on, something may lack its causes, also after a kill, until a pass comes to its end. */
  beginPass(nowMs: number): void;
  endPass(): Promise<void>;
  /** What a head would say now; `null` where nothing came since the last one but heads. */
  unsigned(): UnsignedHead | null;
  /** The head as it lies on the log. */
  addHead(record: OutgoingRecord): Promise<void>;
  /** `null` once a head was added: all that it found is under that. */
  found(): FoundArchive | null;
  /** The hash of the last line: who keeps it elsewhere can prove that nothing before it was changed. */
  head(): string;
}

/**
 * Opens the archive, or begins one. What a killed archiver left half done is cleared away: it is still on the log. Throws
 * `STATE_IN_USE`, `STATE_UNWRITABLE` or `ARCHIVE_CHANGED`.
 */
export async function openArchiveWriter(
  place: ArchivePlace,
  sources: ArchiveSources,
): Promise<ArchiveWriter> {
  using opened = new DisposableStack();
  const store = opened.use(await openStore(place));
  const writable = opened.use(await store.openForWriting(sources.newId));
  const manifest = await foundManifest(store, writable, sources);
  await writable.clear({ manifest, unnamed: unnamedOf(await store.list(), manifest) });
  return writerOf({ place, manifest, store: writable }, opened.move());
}

async function foundManifest(
  store: ArchiveStore,
  writable: WritableStore,
  sources: ArchiveSources,
): Promise<Manifest> {
  const found = (await writable.readManifest()) ?? (await begunManifest(store, writable, sources));
  return requireManifest(store.name, found);
}

interface OpenedArchive {
  readonly place: ArchivePlace;
  readonly manifest: Manifest;
  readonly store: WritableStore;
}

function writerOf({ place, manifest, store }: OpenedArchive, closing: Disposable): ArchiveWriter {
  const { version } = manifest;
  const ends = endsOf(manifest);
  const lines = [...manifest.lines];
  let head = manifest.hashes.at(-1) ?? null;
  let passMs: number | null = null;
  let found: number | null = lines.length;

  const append = async (entry: ArchivedFile | ArchiveGap | ArchivedHead): Promise<void> => {
    const line = chained(entry, head);
    await store.append(line);
    head = line.hash;
    lines.push(line);
    if (entry.kind !== 'head') ends.set(`${entry.topic}/${entry.partition}`, endAfter(entry));
  };

  return {
    endOf: (topic, partition) => ends.get(`${topic}/${partition}`) ?? null,
    addFile: async (range, content) => {
      if (passMs !== null) await store.markPass(passMs);
      await append(await written({ store, version }, range, content));
    },
    addGap: (gap) => append({ kind: 'gap', ...gap }),
    beginPass: (nowMs) => {
      passMs = nowMs;
    },
    endPass: () => store.unmarkPass(),
    unsigned: () => unsignedHead(lines),
    addHead: async ({ key, headers, value }) => {
      await append({ kind: 'head', key, headers, valueBase64: value?.toString('base64') ?? '' });
      found = null;
    },
    found: () => (found === null ? null : { place, lines: [...lines], found }),
    head: () => head ?? '',
    [Symbol.dispose]: () => closing[Symbol.dispose](),
  };
}

const endAfter = (entry: ArchivedFile | ArchiveGap): ArchivedEnd => ({
  lastOffset: BigInt(entry.lastOffset),
  lastMs: entry.kind === 'file' ? entry.lastMs : null,
});

const endsOf = ({ entries }: Manifest): Map<string, ArchivedEnd> =>
  new Map(entries.map((entry) => [`${entry.topic}/${entry.partition}`, endAfter(entry)]));

/** Not over files that another archive left. Somebody else may begin at the same time: then it is his. */
async function begunManifest(
  store: ArchiveStore,
  writable: WritableStore,
  { now, newId }: ArchiveSources,
): Promise<Buffer> {
  const [file] = (await store.list()).filter((name) => !name.endsWith(UNFINISHED));
  const begun: ManifestContent = { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: now(), id: newId() };
  if (file === undefined) await writable.begin(chained(begun, null));
  const manifest = await writable.readManifest();
  if (manifest !== null) return manifest;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `${store.name} holds files such as ${file}, but no ${FIRST_PART}: name an empty place, or bring the manifest back`,
  );
}
