const PARTITION_DIGITS = 3;
const OFFSET_DIGITS = 19;

/**
 * Relative to the archive: `gc.node.inventory/007-0000000000000000012.parquet`. The same range has the same name,
 * and no other: a manifest cannot name what lies outside of its archive.
 */
export const fileName = (topic: string, partition: number, firstOffset: bigint): string =>
  `${filePrefix(topic, partition)}${String(firstOffset).padStart(OFFSET_DIGITS, '0')}.parquet`;

/** Of all files of a partition. */
export const filePrefix = (topic: string, partition: number): string =>
  `${topic}/${String(partition).padStart(PARTITION_DIGITS, '0')}-`;

const FILE_NAME = /^gc\.[a-z.-]+\/\d{3}-\d{19}(\.parquet|\.names\.jsonl\.zst)$/;

/** Whether a file has the name of one of the archive's. */
export const isFileName = (name: string): boolean => FILE_NAME.test(name);

/** Beside a file of records: the index of its names. */
export const namesFileName = (file: string): string => file.replace(/parquet$/, 'names.jsonl.zst');

/** The file of records that a file is or belongs to. */
export const recordsFileName = (name: string): string => name.replace(/names\.jsonl\.zst$/, 'parquet');
