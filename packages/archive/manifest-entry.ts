import { z } from 'zod';
import { brokenTexts, mayHaveBrokenText } from '../../schemas/events/broken-texts.ts';
import { OffsetText } from '../../schemas/events/offset-text.ts';
import { contentHash } from '../canonical/ids.ts';
import { isNameOf } from './file-names.ts';

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
export function isUnchanged({ hash, ...content }: ManifestLine): boolean {
  return contentHash(content) === hash;
}

/** The beginning of the hash of what a line says, wherever it stands: it tells which of many lines was changed. */
export const lineSum = ({ previous, hash, ...content }: ManifestLine): string =>
  contentHash(content).slice(0, SUM_DIGITS);
const SUM_DIGITS = 8;
