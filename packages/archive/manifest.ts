import { z } from 'zod';
import { brokenTexts, mayHaveBrokenText } from '../../schemas/events/broken-texts.ts';
import { OffsetText } from '../../schemas/events/offset-text.ts';
import { contentHash } from '../canonical/ids.ts';
import { TOPIC_NAMES, topicSpec } from '../log/partition.ts';
import { isNameOf } from './file-names.ts';

/** What the lines of a manifest say, and what is wrong with them. */
export interface Manifest {
  /** In the order in which they were written. */
  readonly entries: readonly (ArchivedFile | ArchiveGap)[];
  /** Every line, in order. */
  readonly lines: readonly ManifestLine[];
  /** The hash of every line, in order; the last is the head of the chain. */
  readonly hashes: readonly string[];
  /** A sentence each. */
  readonly problems: readonly string[];
  /** Bytes of whole lines: what comes after them was being written when the archiver was killed. */
  readonly wholeBytes: number;
  /** Whether nothing comes after them. */
  readonly isWhole: boolean;
  readonly sizeBytes: number;
  /** The form of the archive. */
  readonly version: number;
  /** The form of the archive, where another release wrote it; `null` where this one can read it. */
  readonly otherVersion: number | null;
}

/** The files that it names. */
export const filesOf = ({ entries }: Manifest): readonly ArchivedFile[] =>
  entries.filter((entry) => entry.kind === 'file');

/** Reads a manifest from the first line to the last whole one, and goes on after what is wrong. */
export function readManifest(content: Buffer): Manifest {
  const wholeBytes = content.lastIndexOf('\n') + 1;
  const texts = content.toString('utf8', 0, wholeBytes).split('\n').slice(0, -1);
  const lines = texts.map(parseManifestLine);
  const known = lines.filter((line) => line !== null);
  return {
    lines: known,
    entries: known.filter((line) => line.kind === 'file' || line.kind === 'gap'),
    hashes: known.map(({ hash }) => hash),
    problems: [...chainProblems(lines), ...rangeProblems(known)],
    wholeBytes,
    isWhole: wholeBytes === content.length,
    sizeBytes: content.length,
    version: versionIn(lines[0] ?? null),
    otherVersion: otherVersionIn(lines[0] ?? null),
  };
}

const versionIn = (first: ManifestLine | null): number =>
  first?.kind === 'archive' ? first.version : ARCHIVE_VERSION;

const otherVersionIn = (first: ManifestLine | null): number | null => {
  const version = versionIn(first);
  return KNOWN_VERSIONS.includes(version) ? null : version;
};

function* chainProblems(lines: readonly (ManifestLine | null)[]): Iterable<string> {
  if (lines.length === 0) yield 'the manifest has no line';
  for (const [index, line] of lines.entries()) {
    const where = `line ${index + 1} of the manifest`;
    if (line === null) yield `${where} cannot be read: it was changed, or a newer release wrote it`;
    else yield* lineProblems(line, index === 0 ? null : (lines[index - 1] ?? undefined), where);
  }
}

/** `before` is `null` for the first line, and `undefined` where the line before cannot be read. */
function* lineProblems(
  line: ManifestLine,
  before: ManifestLine | null | undefined,
  where: string,
): Iterable<string> {
  if (!isUnchanged(line)) yield `${where} was changed: ${lineText(line)}`;
  if (before !== undefined && line.previous !== (before?.hash ?? null))
    yield `${where} does not follow the line before it: lines were changed, removed or added there`;
  if ((line.kind === 'archive') !== (before === null))
    yield `${where} must ${before === null ? '' : 'not '}begin an archive`;
  if (line.kind === 'archive' && !KNOWN_VERSIONS.includes(line.version))
    yield `another release wrote the archive, or somebody changed it: its version is ${line.version}, and this release reads ${KNOWN_VERSIONS.join(' and ')}`;
}

export const lineText = (line: ManifestLine): string => {
  if (line.kind === 'archive') return 'the beginning of the archive';
  if (line.kind === 'head') return 'a signed head';
  const range = `${line.topic}/${line.partition}@${line.firstOffset} to ${line.lastOffset}`;
  return line.kind === 'file' ? `the file ${line.file} (${range})` : `a gap (${range})`;
};

/** Within a partition each line goes on where the one before it ended. */
function* rangeProblems(lines: readonly ManifestLine[]): Iterable<string> {
  const next = new Map<string, bigint>();
  for (const line of lines) {
    if (line.kind === 'archive' || line.kind === 'head') continue;
    const partition = `${line.topic}/${line.partition}`;
    const due = next.get(partition);
    next.set(partition, BigInt(line.lastOffset) + 1n);
    if (due === undefined || due === BigInt(line.firstOffset)) continue;
    if (isCompacted(line.topic) && BigInt(line.firstOffset) > due) continue;
    yield `${partition} should go on at offset ${due}, and ${lineText(line)} does not`;
  }
}

/** Of a compacted topic offsets are missing where newer records of their keys came. */
export const isCompacted = (topic: string): boolean =>
  TOPIC_NAMES.some((name) => name === topic && topicSpec(name).compacted);

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const EpochMs = z.int().nonnegative();

/** The form of a new archive: its files lie where tables are looked for. */
export const ARCHIVE_VERSION = 3;
/** Forms that this release reads, and goes on with as they are. Another number is another form. */
export const KNOWN_VERSIONS: readonly number[] = [2, ARCHIVE_VERSION];

/** Two archives of one log may begin in one moment; those of older releases have no id. */
const Begun = z.strictObject({
  kind: z.literal('archive'),
  version: z.int(),
  begunAtMs: EpochMs,
  id: z.exactOptional(z.string()),
});

const Range = {
  topic: z.string().regex(/^gc\.[a-z.-]+$/),
  partition: z.int().nonnegative(),
  firstOffset: OffsetText,
  lastOffset: OffsetText,
};

/** The index of names beside a file of records; without it whoever looks for a name reads the records. */
const NamesFile = z.strictObject({ version: z.int(), sha256: Sha256, sizeBytes: z.int().positive() });

/** A file of records. Times are the log's, of its oldest, newest and last record. */
const Archived = z.strictObject({
  kind: z.literal('file'),
  ...Range,
  file: z.string(),
  sha256: Sha256,
  sizeBytes: z.int().positive(),
  rows: z.int().positive(),
  oldestMs: EpochMs,
  newestMs: EpochMs,
  lastMs: EpochMs,
  names: z.exactOptional(NamesFile),
});

/** Records that were deleted from the log before they were archived. */
const Gap = z.strictObject({ kind: z.literal('gap'), ...Range, notedAtMs: EpochMs });

/** A signed head as it lies on `gc.heads`: it speaks of all lines before this one. */
const Head = z.strictObject({
  kind: z.literal('head'),
  key: z.string(),
  headers: z.record(z.string(), z.string()),
  valueBase64: z.base64(),
});

export type ArchivedFile = z.infer<typeof Archived>;
export type ArchiveGap = z.infer<typeof Gap>;
export type ArchivedHead = z.infer<typeof Head>;
/** What a line of the manifest says. */
export type ManifestContent = z.infer<typeof Begun> | ArchivedFile | ArchiveGap | ArchivedHead;

/** `previous` is the hash of the line before, `null` in the first; `hash` is that of all else in this line. */
const Chained = { previous: Sha256.nullable(), hash: Sha256 };

const ManifestLine = z.discriminatedUnion('kind', [
  Begun.extend(Chained),
  Archived.extend(Chained).refine(({ file, firstOffset, ...range }) =>
    isNameOf(file, { ...range, firstOffset: BigInt(firstOffset) }),
  ),
  Gap.extend(Chained),
  Head.extend(Chained),
]);
export type ManifestLine = z.infer<typeof ManifestLine>;

/** A line that follows `previous`. */
export const chained = (content: ManifestContent, previous: string | null): ManifestLine => ({
  ...content,
  previous,
  hash: contentHash({ ...content, previous }),
});

/** A line as it stands in the manifest; `null` when it is none. Its hash is not looked at: what can have none is no line. */
export function parseManifestLine(text: string): ManifestLine | null {
  try {
    const line = ManifestLine.safeParse(JSON.parse(text)).data ?? null;
    return mayHaveBrokenText(text) && brokenTexts(line).length > 0 ? null : line;
  } catch {
    return null;
  }
}

/** Whether the line is as it was written. */
function isUnchanged({ hash, ...content }: ManifestLine): boolean {
  return contentHash(content) === hash;
}

/** The beginning of the hash of what a line says, wherever it stands: it tells which of many lines was changed. */
export const lineSum = ({ previous, hash, ...content }: ManifestLine): string =>
  contentHash(content).slice(0, SUM_DIGITS);
const SUM_DIGITS = 8;
