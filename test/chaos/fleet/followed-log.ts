import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type { TopicName } from '../../../schemas/topics.ts';
import { EventLogOptions, openEventLog } from '../../../services/shared/event-log/open.ts';
import type { EventLog, LogRecord } from '../../../services/shared/event-log/port.ts';

/** What lies on the log, and what lay there before a topic was deleted. */
export interface FollowedLog extends AsyncDisposable {
  readonly log: EventLog;
  /** In the order in which they were seen. */
  records(topic: TopicName): readonly LogRecord[];
  /** All of it in one file, a line of JSON for each record, for whoever looks for a cause. */
  write(path: string): void;
}

const AGAIN_MS = 300;
const TOPICS: readonly TopicName[] = [
  'gc.node.disk-stats',
  'gc.node.inventory',
  'gc.node.observe',
  'gc.node.commands',
  'gc.node.results',
  'gc.dead-letters',
  'gc.node.decisions',
  'gc.policies',
  'gc.policy-versions',
];

/** Follows what a campaign looks at, through everything that happens to the broker. */
export async function followLog(address: string): Promise<FollowedLog> {
  const options = { kind: 'kafka', brokers: [address], clientId: 'chaos', replicationFactor: 1 };
  const log = await openEventLog(EventLogOptions.parse(options), {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  const seen = new Map<TopicName, Map<string, LogRecord>>(TOPICS.map((topic) => [topic, new Map()]));
  const stop = new AbortController();
  const following = TOPICS.map((topic) => follow(log, topic, seen.get(topic) ?? new Map(), stop.signal));
  return {
    log,
    records: (topic) => [...(seen.get(topic)?.values() ?? [])],
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

async function follow(
  log: EventLog,
  topic: TopicName,
  to: Map<string, LogRecord>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal))
        if (event.kind === 'record') to.set(placeOf(event.record), event.record);
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
