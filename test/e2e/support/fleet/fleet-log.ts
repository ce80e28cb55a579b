import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { EventLog, LogRecord } from '../../../../packages/log/port.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { type EventOf, TOPICS } from '../../../../schemas/events/topics.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { eventLine } from '../event-line.ts';
import { FOLLOWED, type FollowedTopic } from './followed-topics.ts';

const BOUND_MS = 30_000;
const SHOWN_EVENTS = 40;

/** One event as it lies on the log. */
export interface Seen<Id extends FollowedTopic = FollowedTopic> {
  readonly topic: Id;
  readonly event: EventOf<Id>;
  readonly record: LogRecord;
}

/** Everything that was published, as it comes. */
export interface FleetLog extends AsyncDisposable {
  /** The log itself, for a test that publishes something of its own. */
  readonly log: EventLog;
  /** The events of a topic so far, in the order in which the test saw them. */
  events<Id extends FollowedTopic>(topic: Id): readonly EventOf<Id>[];
  /** The same with their records. */
  seen<Id extends FollowedTopic>(topic: Id): readonly Seen<Id>[];
  /** The first event that fits, now or later; an error tells what was waited for and what came last. */
  waitFor<Id extends FollowedTopic>(
    topic: Id,
    what: string,
    fits: (event: EventOf<Id>) => boolean,
    boundMs?: number,
  ): Promise<EventOf<Id>>;
  /** Waits for anything; an error tells what came last on the log. */
  until<T>(
    what: string,
    boundMs: number,
    probe: () => Promise<T | null | false> | T | null | false,
  ): Promise<T>;
}

/** Where the brokers are, and how to log in where they ask for it. */
export type Brokers = Pick<KafkaOptions, 'brokers' | 'ssl' | 'sasl'>;

/** Follows all topics of the brokers from their beginning. `said` is added to what an error tells. */
export async function followFleet(brokers: Brokers, said: () => Promise<string>): Promise<FleetLog> {
  const log = await openEventLog(logOptions(brokers), {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  const all: Seen[] = [];
  const failures: unknown[] = [];
  const stop = new AbortController();
  const followers = FOLLOWED.map((topic) =>
    follow(log, topic, all, stop.signal).catch((error: unknown) => failures.push(error)),
  );
  const seen = <Id extends FollowedTopic>(topic: Id): readonly Seen<Id>[] =>
    all.filter((one): one is Seen<Id> => one.topic === topic);
  const events = <Id extends FollowedTopic>(topic: Id): readonly EventOf<Id>[] =>
    seen(topic).map(({ event }) => event);
  const until: FleetLog['until'] = async (what, boundMs, probe) => {
    try {
      return await waitUntil(what, boundMs, probe);
    } catch (cause) {
      const last = all.slice(-SHOWN_EVENTS).map(({ topic, event }) => eventLine(topic, event));
      const text = [String(cause), ...failures.map(String), 'The log ends with:', ...last, await said()];
      throw new Error(text.join('\n'), { cause });
    }
  };
  return {
    log,
    seen,
    events,
    until,
    waitFor: (topic, what, fits, boundMs = BOUND_MS) =>
      until(what, boundMs, () => events(topic).find(fits) ?? null),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(followers);
      await log[Symbol.asyncDispose]();
    },
  };
}

const logOptions = (brokers: Brokers): EventLogOptions =>
  EventLogOptions.parse({ kind: 'kafka', ...brokers, clientId: 'e2e', replicationFactor: 1 });

/** Just after their topics were created, brokers do not know all leaders yet: a reading that cannot begin is tried again. */
async function follow(log: EventLog, topic: FollowedTopic, to: Seen[], signal: AbortSignal): Promise<void> {
  const begun = (): boolean => to.some((one) => one.topic === topic);
  while (!signal.aborted) {
    try {
      await readAll(log, topic, to, signal);
    } catch (error) {
      if (begun() || !toFleetGcError(error).retry) throw error;
    }
  }
}

/** A record that is not what its topic says fails the reading, and with it whatever waits. */
async function readAll(log: EventLog, topic: FollowedTopic, to: Seen[], signal: AbortSignal): Promise<void> {
  const { name, schemas } = TOPICS[topic];
  for await (const event of log.read({ topic: name, from: 'earliest', to: 'forever' }, signal)) {
    if (event.kind !== 'record') continue;
    const { record } = event;
    const json: unknown = JSON.parse(String(record.value));
    const parsed = schemas.map((schema) => schema.safeParse(json)).find(({ success }) => success);
    if (!parsed?.success) throw new Error(`${name}: not one of its schemas: ${String(record.value)}`);
    to.push({ topic, event: parsed.data, record });
  }
}
