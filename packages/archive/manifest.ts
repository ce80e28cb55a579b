import { TOPIC_NAMES, topicSpec } from '../log/partition.ts';
import {
  ARCHIVE_VERSION,
  type ArchivedFile,
  type ArchiveGap,
  isUnchanged,
  KNOWN_VERSIONS,
  type ManifestLine,
  parseManifestLine,
} from './manifest-entry.ts';

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
