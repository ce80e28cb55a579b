import { DAY_MS } from '../process/durations.ts';

const PARTITION_DIGITS = 3;
const OFFSET_DIGITS = 19;

/** Where a file of records begins. */
export interface FileStart {
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: bigint;
}

/** What a name is made of. */
interface NamedRange extends FileStart {
  /** When the log got its last record, epoch milliseconds: all others came on the same day. */
  readonly lastMs: number;
}

/** The form whose files lie by topic alone; later ones lie by topic and day, where tables are looked for. */
const BY_TOPIC_VERSION = 2;

/**
 * Relative to the archive: `records/topic=gc.node.inventory/date=2026-03-01/007-0000000000000000012.parquet`. A manifest cannot
 * name what lies outside of its archive. `token` tells different contents apart that several archivers write at the same time, where
 * none keeps the others away; `null` where one does.
 */
export function fileName(version: number, range: NamedRange, token: string | null): string {
  const name = `${baseName(range)}${token === null ? '' : `-${token}`}.parquet`;
  return version === BY_TOPIC_VERSION
    ? `${range.topic}/${name}`
    : `records/topic=${range.topic}/date=${dayText(range.lastMs)}/${name}`;
}

/** Whether a file with these records can have that name, in one form or the other. */
export function isNameOf(file: string, range: NamedRange): boolean {
  const token = FILE_NAME.exec(file)?.groups?.token ?? null;
  return [BY_TOPIC_VERSION, BY_TOPIC_VERSION + 1].some((version) => file === fileName(version, range, token));
}

const baseName = ({ partition, firstOffset }: FileStart): string =>
  `${String(partition).padStart(PARTITION_DIGITS, '0')}-${String(firstOffset).padStart(OFFSET_DIGITS, '0')}`;

/** Beyond what a date can be, no file has such a name. */
const LAST_DAY = 100_000_000;
const dayText = (epochMs: number): string =>
  new Date(Math.min(Math.floor(epochMs / DAY_MS), LAST_DAY) * DAY_MS)
    .toISOString()
    .slice(0, 'yyyy-mm-dd'.length);

const TOPIC = String.raw`(?<topic>gc\.[a-z.-]+)`;
const BASE = String.raw`(?<partition>\d{3})-(?<offset>\d{19})(-(?<token>[0-9a-f]{12}))?`;
const FILE_NAME = new RegExp(
  String.raw`^(?:(?:(?:records|names)/topic=)?)${TOPIC}/(?:date=\d{4}-\d\d-\d\d/)?${BASE}(?:\.parquet|\.names\.jsonl\.zst)$`,
);

/** Where the file of records begins that has this name, or whose index has it; `null` for any other name. */
export function startInName(name: string): FileStart | null {
  const { topic, partition, offset } = FILE_NAME.exec(name)?.groups ?? {};
  if (topic === undefined || partition === undefined || offset === undefined) return null;
  return { topic, partition: Number(partition), firstOffset: BigInt(offset) };
}

/** Whether a file has the name of one of the archive's. */
export const isFileName = (name: string): boolean => startInName(name) !== null;

/** The index of a file's names: not beside the records, where only tables are. */
export const namesFileName = (file: string): string =>
  file.replace(/^records\//, 'names/').replace(/parquet$/, 'names.jsonl.zst');

/** Held by the one process that writes to a directory. */
export const LOCK_FILE = 'archive.lock';
/** A file that is not written whole yet, or that tells of something that is not done yet, ends so. */
export const UNFINISHED = '.unfinished';

/**
 * There while a pass goes on, and after one that did not come to its end: what was copied last may lack its causes. It has the
 * token of the archiver where several may write.
 */
export const PASS_FILE = /^pass(-[0-9a-f]{12})?\.unfinished$/;
export const passFile = (token: string | null): string =>
  `pass${token === null ? '' : `-${token}`}${UNFINISHED}`;

/** What an archiver may leave half done: at the top of the archive, and by these names. Below the same place others may have theirs. */
const LEFT_UNFINISHED =
  /^(?:pass(?:-[0-9a-f]{12})?|probe-[0-9a-f]{12}|manifest\.jsonl|[^/]+\.(?:parquet|names\.jsonl\.zst))\.unfinished$/;
export const isLeftUnfinished = (name: string): boolean => LEFT_UNFINISHED.test(name);

/**
 * The manifest is one text in parts: `manifest.jsonl`, `manifest-000001.jsonl` and so on. Object storage cannot append, so the last
 * part is replaced with each line, until it is so long. A directory has one part, or those that came from object storage.
 */
export const FIRST_PART = 'manifest.jsonl';

/** Of the form of the archive: two archivers that saw the same last part go on in the same one. */
export const PART_BYTES = 256 * 1024;

/** In parts beyond the first the older form is not read by releases that know only that. */
export const PARTS_SINCE_VERSION = 3;

const PART_DIGITS = 6;
const PART_NAME = /^manifest(?:-(\d{6}))?\.jsonl$/;

export const partName = (number: number): string =>
  number === 0 ? FIRST_PART : `manifest-${String(number).padStart(PART_DIGITS, '0')}.jsonl`;

/** `null` for a name that is none of a part. */
export function partNumber(name: string): number | null {
  const found = PART_NAME.exec(name);
  return found === null ? null : Number(found[1] ?? '0');
}

/** The parts among these names, in order. What is missing between two of them shows in the chain of the lines. */
export const partsIn = (names: readonly string[]): readonly string[] =>
  names
    .filter((name) => partNumber(name) !== null)
    .toSorted((one, other) => (partNumber(one) ?? 0) - (partNumber(other) ?? 0));
