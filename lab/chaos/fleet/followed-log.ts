import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import type { EventLog, LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';

/** What lies on the log, and what lay there before a topic was deleted. */
export interface FollowedLog extends AsyncDisposable {
  readonly log: EventLog;
  /** As often as it takes, while the broker is away. */
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  /** In the order in which they were seen. */
  records(topic: TopicName): readonly LogRecord[];
  /** Called with each record that comes from now on; returns what ends it. */
  onRecord(listener: Listener): () => void;
  /** All of it in one file, a line of JSON for each record, for whoever looks for a cause. */
  write(path: string): void;
}

type Listener = (record: LogRecord) => void;

const AGAIN_MS = 300;
const PUBLISH_MS = 30_000;
/** Follows what a campaign looks at, through everything that happens to the broker. */
export async function followLog(address: string, topics: readonly TopicName[]): Promise<FollowedLog> {
  const options = { kind: 'kafka', brokers: [address], clientId: 'chaos', replicationFactor: 1 };
  const log = await openEventLog(EventLogOptions.parse(options), {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  const seen = new Map<TopicName, Map<string, LogRecord>>(topics.map((topic) => [topic, new Map()]));
  const stop = new AbortController();
  const listeners = new Set<Listener>();
  const following = topics.map((topic) => {
    const ofTopic = seen.get(topic) ?? new Map();
    const add = (record: LogRecord): void => {
      if (ofTopic.has(placeOf(record))) return;
      ofTopic.set(placeOf(record), record);
      for (const listener of listeners) listener(record);
    };
    return follow({ log, topic, add }, stop.signal);
  });
  return {
    log,
    publish: (records) => publishAgain(log, records),
    records: (topic) => [...(seen.get(topic)?.values() ?? [])],
    onRecord: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    write: (path) =>
      writeFileSync(
        path,
        [...seen.values()]
          .flatMap((of) => [...of.values()])
          .map(lineOf)
          .join(''),
      ),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(following);
      await log[Symbol.asyncDispose]();
    },
  };
}

/** The broker may be away just now, as it is for everybody. */
async function publishAgain(log: EventLog, records: readonly OutgoingRecord[]): Promise<void> {
  const endMs = performance.now() + PUBLISH_MS;
  for (;;) {
    try {
      await log.publish(records);
      return;
    } catch (error) {
      if (!toFleetGcError(error).retry || performance.now() > endMs) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

interface Following {
  readonly log: EventLog;
  readonly topic: TopicName;
  readonly add: Listener;
}

async function follow({ log, topic, add }: Following, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal))
        if (event.kind === 'record') add(event.record);
    } catch {
      // The broker or the topic is away: it is read again from its beginning.
      await sleep(AGAIN_MS);
    }
  }
}

const lineOf = ({ topic, partition, offset, timestampMs, value }: LogRecord): string =>
  `${JSON.stringify({ topic, at: `${partition}@${offset}`, timestampMs, value: String(value) })}\n`;

/** A topic that was made anew counts from zero again. */
const placeOf = ({ partition, offset, timestampMs }: LogRecord): string =>
  `${partition}@${offset} ${timestampMs}`;
