import pMap from 'p-map';
import { SUBJECTS, type SubjectKind } from '../../schemas/events/identity.ts';
import type { TopicId } from '../../schemas/events/topics.ts';
import type { LogReader } from '../log/port.ts';
import { type RecordedEvent, readPartition, type TimeRange } from '../records/read-log.ts';

/** Each holds a connection, and what it has read ahead. */
const PARTITIONS_AT_ONCE = 8;

export const partitionsOf = (subject: SubjectKind): readonly number[] =>
  Array.from({ length: SUBJECTS[subject].partitions }, (_, partition) => partition);

/** Does the work for each, several beside each other. */
export async function beside<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  await pMap(items, work, { concurrency: PARTITIONS_AT_ONCE });
}

interface Scan {
  readonly topics: readonly TopicId[];
  readonly partitions: readonly number[];
  /** One after the other. */
  readonly ranges: readonly TimeRange[];
}

/** Gives every record of these parts of the log to `take`: those of a partition in the order of the log, several partitions at a time. */
export const scan = (
  log: LogReader,
  { topics, partitions, ranges }: Scan,
  take: (event: RecordedEvent) => void,
  signal: AbortSignal,
): Promise<void> =>
  beside(partitions, async (partition) => {
    for (const range of ranges)
      for await (const event of readPartition(log, { topics, partition, range }, signal)) take(event);
  });
