import pMap from 'p-map';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { partitionOf } from '../../log/partition.ts';
import type { EventLog } from '../../log/port.ts';
import { HOUR_MS } from '../../process/durations.ts';
import { readPartition, type TimeRange } from '../../records/read-log.ts';
import { recordedTrust } from '../cluster-holds/recorded-trust.ts';
import { type ToldCensus, ToldCensuses } from '../cluster-holds/told-censuses.ts';

export interface AskedCensuses {
  readonly log: Pick<EventLog, 'read'>;
  /** `null` for all clusters. */
  readonly cluster: string | null;
  /** Whose signatures count; `null` if signatures are not verified. */
  readonly roots: TrustRoots | null;
  /** By the clock of the log, epoch milliseconds. */
  readonly nowMs: number;
}

export interface LastCensuses {
  /** By the names of the clusters. */
  readonly censuses: readonly ToldCensus[];
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
  { log, cluster, roots }: AskedCensuses,
  range: TimeRange,
  signal: AbortSignal,
): Promise<LastCensuses> {
  const last = new ToldCensuses(await recordedTrust(roots, log, signal));
  const read = async (partition: number): Promise<void> => {
    const reading = { topics: ['clusterCensus'], partition, range } as const;
    for await (const { record } of readPartition(log, reading, signal)) last.take(record);
  };
  await pMap(partitionsOf(cluster), read, { concurrency: PARTITIONS_AT_ONCE });
  const censuses = [...last.told().values()]
    .filter(({ census }) => cluster === null || census.cluster === cluster)
    .toSorted((a, b) => compareText(a.census.cluster, b.census.cluster));
  return { censuses, unreadable: last.unreadable };
}

const { name, partitions } = TOPICS.clusterCensus;
const partitionsOf = (cluster: string | null): readonly number[] =>
  cluster === null
    ? Array.from({ length: partitions }, (_, partition) => partition)
    : [partitionOf(name, SUBJECTS.cluster.keyOf({ cluster }))];
