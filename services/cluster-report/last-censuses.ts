import pMap from 'p-map';
import { partitionOf } from '../../packages/event-log/partition.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import { parseRecord } from '../../packages/pipeline/parse/parse-record.ts';
import { readPartition, type TimeRange } from '../../packages/pipeline/read-log.ts';
import { HOUR_MS } from '../../packages/process/durations.ts';
import type { Census } from '../../schemas/events/census.ts';
import { SUBJECTS } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

export interface AskedCensuses {
  readonly log: Pick<EventLog, 'read'>;
  /** `null` for all clusters. */
  readonly cluster: string | null;
  /** By the clock of the log, epoch milliseconds. */
  readonly nowMs: number;
}

export interface LastCensuses {
  readonly censuses: readonly Census[];
  readonly unreadable: number;
}

const PARTITIONS_AT_ONCE = 8;

/** What each cluster told last of itself: in the last hour, or, where nobody did, as far back as the topic reaches. */
export async function lastCensuses(asked: AskedCensuses, signal: AbortSignal): Promise<LastCensuses> {
  const lately = await readCensuses(asked, { fromMs: asked.nowMs - HOUR_MS, toMs: null }, signal);
  if (lately.censuses.length > 0) return lately;
  return readCensuses(asked, { fromMs: null, toMs: null }, signal);
}

async function readCensuses(
  { log, cluster }: AskedCensuses,
  range: TimeRange,
  signal: AbortSignal,
): Promise<LastCensuses> {
  const last = new Map<string, Census>();
  let unreadable = 0;
  const read = async (partition: number): Promise<void> => {
    const reading = { topics: ['clusterCensus'], partition, range } as const;
    for await (const { record } of readPartition(log, reading, signal)) {
      const parsed = parseRecord('clusterCensus', record);
      if (!parsed.ok) unreadable++;
      else if (cluster === null || parsed.event.cluster === cluster)
        last.set(parsed.event.cluster, parsed.event);
    }
  };
  await pMap(partitionsOf(cluster), read, { concurrency: PARTITIONS_AT_ONCE });
  const censuses = [...last.values()].toSorted((a, b) => compareText(a.cluster, b.cluster));
  return { censuses, unreadable };
}

const { name, partitions } = TOPICS.clusterCensus;
const partitionsOf = (cluster: string | null): readonly number[] =>
  cluster === null
    ? Array.from({ length: partitions }, (_, partition) => partition)
    : [partitionOf(name, SUBJECTS.cluster.keyOf({ cluster }))];
