import type { LogRecord, SubscriptionState } from '../../packages/log/port.ts';
import type { FleetEvent, TopicId } from '../../schemas/events/topics.ts';
import type { Notice } from './notice.ts';
import { Silence, type SilenceTopic } from './silence.ts';
import { type HasSince, StandingLog } from './standing-log.ts';
import { Undecided } from './undecided.ts';

/** Topics of which the last minutes are read at the start, so that it is known who was there before. */
export const HEARD_ON: readonly SilenceTopic[] = ['diskStats', 'clusterCensus'];

/** What shows by nothing that is read: nodes, clusters, decision services and a log that fell silent. */
export class Watches {
  readonly #nodes = new Silence('diskStats');
  readonly #clusters = new Silence('clusterCensus');
  readonly #undecided = new Undecided();
  readonly #log = new StandingLog();

  /** Who is back is told. */
  heard(event: FleetEvent, { partition, timestampMs: atMs }: LogRecord): readonly Notice[] {
    switch (event.type) {
      case 'fleetgc.node.disk-stats':
        this.#undecided.heard(partition, atMs);
        this.#log.heard(atMs);
        return this.#nodes.heard({ cluster: event.cluster, node: event.node, partition, atMs });
      case 'fleetgc.cluster.census':
        return this.#clusters.heard({ cluster: event.cluster, node: null, partition, atMs });
      default:
        return [];
    }
  }

  /** Before anybody looks into it. */
  read(topic: TopicId, record: LogRecord): void {
    if (topic === 'decisions') this.#undecided.decided(record);
  }

  /** Reports since this was asked last of nodes and clusters that are too many to watch. */
  takeUnwatched(): number {
    return this.#nodes.takeUnwatched() + this.#clusters.takeUnwatched();
  }

  /** `nowMs` is in epoch milliseconds. */
  async look(state: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<readonly Notice[]> {
    const seen = [
      ...this.#nodes.look(state, nowMs),
      ...this.#clusters.look(state, nowMs),
      ...this.#undecided.look(state, nowMs),
    ];
    return [...seen, ...(await this.#log.look(state, nowMs, hasSince))];
  }
}
