import { partitionOf } from '../../../packages/log/partition.ts';
import type {
  EventLog,
  LogRecord,
  OutgoingRecord,
  SliceHandler,
  Subscription,
} from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';

/** An event log that knows whether all it holds was processed, and that goes wrong as a test says. */
export interface WatchedLog extends EventLog {
  /** What is being published or processed, or is still to be; `null` when nothing is. */
  busyWith(): string | null;
  /** `false`: consumers stand still, and nobody waits for them. */
  awaitsConsumers: boolean;
  /** Called before records are published; throws to refuse them. */
  beforePublish: (records: readonly OutgoingRecord[]) => void | Promise<void>;
  /** How often handlers get each slice before it counts as processed: twice, as after a crash before the commit. */
  deliveries: (records: readonly LogRecord[]) => number;
}

interface Group {
  members: number;
  readonly subscription: Subscription;
  /** By `topic/partition`, the next offset to process. */
  readonly next: Map<string, bigint>;
}

export function watchedLog(log: EventLog): WatchedLog {
  const ends = new Map<string, bigint>();
  const groups = new Map<string, Group>();
  let publishing = 0;
  let inHand = 0;

  const noteEnds = (records: readonly OutgoingRecord[]): void => {
    for (const { topic, key } of records) {
      const place = `${topic}/${partitionOf(topic, key)}`;
      ends.set(place, (ends.get(place) ?? 0n) + 1n);
    }
  };

  const watched =
    (group: Group, handle: SliceHandler): SliceHandler =>
    async (records, signal, counted) => {
      inHand++;
      try {
        await repeat(watchedLog.deliveries(records), () => handle(records, signal, counted));
        if (!signal.aborted) noteProcessed(group, records);
      } finally {
        inHand--;
      }
    };

  const watchedLog: WatchedLog = {
    ...log,
    awaitsConsumers: true,
    beforePublish: () => undefined,
    deliveries: () => 1,
    publish: async (records) => {
      publishing++;
      try {
        await watchedLog.beforePublish(records);
        const positions = await log.publish(records);
        noteEnds(records);
        return positions;
      } finally {
        publishing--;
      }
    },
    subscribe: async (subscription, handle) => {
      const group = groups.get(subscription.group) ?? { members: 0, subscription, next: new Map() };
      groups.set(subscription.group, group);
      group.members++;
      const active = await log.subscribe(subscription, watched(group, handle));
      const leave = (): void => {
        group.members--;
      };
      active.finished.then(leave, leave);
      return active;
    },
    busyWith: () => {
      if (publishing > 0) return 'publishing';
      if (!watchedLog.awaitsConsumers) return null;
      return inHand > 0 ? 'handling records' : unread(groups, ends);
    },
  };
  return watchedLog;
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let count = 0; count < times; count++) await work();
}

function noteProcessed({ next }: Group, records: readonly LogRecord[]): void {
  for (const { topic, partition, offset } of records) {
    const place = `${topic}/${partition}`;
    const known = next.get(place) ?? 0n;
    next.set(place, offset >= known ? offset + 1n : known);
  }
}

/** What a group that has members has not processed yet. */
function unread(groups: ReadonlyMap<string, Group>, ends: ReadonlyMap<string, bigint>): string | null {
  const living = [...groups].filter(([, { members }]) => members > 0);
  for (const [place, end] of ends) {
    const behind = living.find(
      ([, { subscription, next }]) => reads(subscription, place) && (next.get(place) ?? 0n) < end,
    );
    if (behind) return `${behind[0]} reading ${place}`;
  }
  return null;
}

function reads({ topics, assignment }: Subscription, place: string): boolean {
  const isPlaceOf = (topic: TopicName): boolean =>
    assignment.kind === 'shared'
      ? place.startsWith(`${topic}/`)
      : place === `${topic}/${partitionOf(topic, assignment.key)}`;
  return topics.some(isPlaceOf);
}
