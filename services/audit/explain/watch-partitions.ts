import pMap from 'p-map';
import type { EventLog } from '../../../packages/event-log/port.ts';
import { readPartition, type TimeRange } from '../../../packages/pipeline/read-log.ts';
import type { AskedName } from './asked-name.ts';
import { createPartitionWatch, type NodeFilter, type Watched } from './partition-watch.ts';

export interface ExplainProgress {
  /** Partitions that were read, and how many there are to read. */
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

export interface WatchNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly asked: AskedName;
  readonly range: TimeRange;
  readonly filter: NodeFilter;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ExplainProgress) => void;
}

const READ = ['inventory', 'decisions', 'commands', 'results'] as const;
const PROGRESS_EVERY_RECORDS = 500;
/** Waiting for a broker is most of the work where a partition has little to read. */
const PARTITIONS_AT_ONCE = 4;

/** Reads several partitions at once; the first failure ends them all. */
export async function watchPartitions(
  needs: WatchNeeds,
  partitions: readonly number[],
): Promise<readonly Watched[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([needs.signal, failed.signal]);
  const watchOne = partitionWatcher({ ...needs, signal }, partitions.length);
  try {
    return await pMap(partitions, watchOne, { concurrency: PARTITIONS_AT_ONCE });
  } finally {
    failed.abort();
  }
}

function partitionWatcher({ log, asked, range, filter, signal, onProgress }: WatchNeeds, of: number) {
  let isFound = false;
  let done = 0;
  let records = 0;
  return async (partition: number): Promise<Watched> => {
    const watch = createPartitionWatch(asked, filter, { gatherNames: () => !isFound });
    for await (const recorded of readPartition(log, { topics: READ, partition, range }, signal)) {
      watch.tell(recorded);
      records += 1;
      if (records % PROGRESS_EVERY_RECORDS === 0) onProgress({ done, of, records });
    }
    done += 1;
    const watched = watch.finish();
    isFound ||= watched.subjects.length > 0;
    return watched;
  };
}
