import { type FleetEvent, TOPICS } from '../../schemas/events/topics.ts';
import type { ActiveSubscription, LogRecord } from '../log/port.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import type { Metrics } from '../process/metrics.ts';
import { PartitionClocks } from './partition-clocks.ts';

/** Agents tell how their cluster stands at least every ten minutes. */
export const CLUSTER_SILENT_AFTER_MS = 20 * MINUTE_MS;
/** Who was not heard for so long is forgotten. */
const FORGET_AFTER_MS = DAY_MS;
/** Anybody who may write facts can make up names. */
const MOST_CLUSTERS = 10_000;

interface ClusterWatchParts {
  readonly metrics: Metrics;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** When a cluster was heard last, by the log, and in which partition. */
interface Heard {
  readonly atMs: number;
  readonly partition: number;
}

/** Hears which clusters tell of themselves, and counts those that do not any more. Nothing is decided by it. */
export class ClusterWatch {
  readonly #clusters = new Map<string, Heard>();
  readonly #clocks: PartitionClocks;

  constructor({ metrics, now }: ClusterWatchParts) {
    this.#clocks = new PartitionClocks(TOPICS.clusterCensus.name, now);
    metrics.gauge(
      'clusters_heard',
      'Clusters that were heard in the last 20 minutes, in the partitions of this replica.',
      [],
      () => [[{}, this.#count().heard]],
    );
    metrics.gauge(
      'clusters_silent',
      'Clusters that were heard in the last day, since this replica began, and not in the last 20 minutes.',
      [],
      () => [[{}, this.#count().silent]],
    );
  }

  follow(progress: Pick<ActiveSubscription, 'state'>): void {
    this.#clocks.follow(progress);
  }

  received(event: FleetEvent, { partition, offset, timestampMs }: LogRecord): void {
    if (event.type !== 'fleetgc.cluster.census') return;
    if (!this.#clocks.isNew(partition, { offset, timestampMs })) return;
    this.#forget(timestampMs);
    const { cluster } = event;
    if (this.#clusters.size >= MOST_CLUSTERS && !this.#clusters.has(cluster)) return;
    this.#clusters.set(cluster, { atMs: timestampMs, partition });
  }

  #forget(nowMs: number): void {
    for (const [cluster, { atMs }] of this.#clusters)
      if (nowMs - atMs > FORGET_AFTER_MS) this.#clusters.delete(cluster);
  }

  #count(): { readonly heard: number; readonly silent: number } {
    const times = this.#clocks.times();
    const agesMs = [...this.#clusters.values()].flatMap(({ atMs, partition }) => {
      const nowMs = times.get(partition);
      return nowMs === undefined ? [] : [nowMs - atMs];
    });
    const heard = agesMs.filter((ageMs) => ageMs <= CLUSTER_SILENT_AFTER_MS).length;
    const known = agesMs.filter((ageMs) => ageMs <= FORGET_AFTER_MS).length;
    return { heard, silent: known - heard };
  }
}
