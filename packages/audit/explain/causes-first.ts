import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { type FleetEvent, TOPICS } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import type { NodeFollower } from './node-follower.ts';

interface Waiter {
  readonly watch: NodeFollower;
  readonly event: FleetEvent;
  readonly record: LogRecord;
}

/** Clocks of brokers differ less. A cause that has not come by then is not on the log. */
const MOST_MS = 10_000;

/**
 * Tells the events of one partition so that no decision comes before its inventory. Clocks of brokers differ a little, so that an
 * effect can be read before its cause; what follows it waits with it.
 */
export class CausesFirst {
  /** Of the last inventory that was told. */
  #lastOffset = -1n;
  #waiters: Waiter[] = [];

  tell(watch: NodeFollower, event: FleetEvent, record: LogRecord): void {
    const waiter = { watch, event, record };
    const [first] = this.#waiters;
    if (first && record.timestampMs - first.record.timestampMs > MOST_MS) this.release();
    if (event.type === 'fleetgc.node.inventory') tellNow(waiter);
    else this.#waiters.push(waiter);
    this.#releaseReady();
  }

  /** The inventory at this offset is the next to be told, or is not told at all. */
  passed(offset: bigint): void {
    this.#releaseReady();
    this.#lastOffset = offset;
  }

  /** Nothing more comes, so nothing needs to wait. */
  release(): void {
    const released = this.#waiters;
    this.#waiters = [];
    released.forEach(tellNow);
  }

  #releaseReady(): void {
    if (this.#waiters.every(({ event }) => awaited(event) <= this.#lastOffset)) this.release();
  }
}

const tellNow = ({ watch, event, record }: Waiter): void => watch.tell(event, momentOf(event, record));

/** The offset of the inventory that has to be known before; of other events none. */
const awaited = (event: FleetEvent): bigint =>
  event.type === 'fleetgc.node.decision' &&
  event.input.topic === TOPICS.inventory.name &&
  isOffsetText(event.input.offset)
    ? BigInt(event.input.offset)
    : -1n;

function momentOf(event: FleetEvent, { topic, partition, offset, timestampMs }: LogRecord) {
  return {
    loggedAtMs: timestampMs,
    nodeTimeMs: instantOf(event)?.wallTimeMs ?? timestampMs,
    record: { topic, partition, offset: String(offset) },
  };
}

/** By the clock of a node; what is about a cluster has the API server's. */
const instantOf = (event: FleetEvent): Instant | undefined => {
  if (!('node' in event)) return undefined;
  if ('takenAt' in event) return event.takenAt;
  return 'at' in event ? event.at : undefined;
};
