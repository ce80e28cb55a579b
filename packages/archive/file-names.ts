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
export interface NamedRange extends FileStart {
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
