import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs, pause } from '../process/back-off.ts';
import { createCore, type KafkaCore } from './kafka/client/core.ts';
import { type KafkaOptions, secretsOf } from './kafka/client/options.ts';
import { sendPatiently } from './kafka/client/patience.ts';
import { renewConnections } from './kafka/client/renewal.ts';
import { timeLimits } from './kafka/client/time-limits.ts';
import { brokerAddresses, groupProgress } from './kafka/group/group-progress.ts';
import { startMember } from './kafka/group/member.ts';
import { createProducer, type KafkaProducer } from './kafka/publishing/producer.ts';
import { createPublisher } from './kafka/publishing/publisher.ts';
import { readRecords } from './kafka/reading/read.ts';
import { createDeclaredCheck } from './kafka/topics/declared.ts';
import { type AdminWork, createMissing, findDifferences, withAdmin } from './kafka/topics/topics.ts';
import { refuseTooLarge } from './limits.ts';
import type { ActiveSubscription, EventLog, EventLogContext, OutgoingRecord } from './port.ts';
import { waitAtMost } from './stopping.ts';

const CONNECT_BACK_OFF = { firstMs: 200, mostMs: 10_000 };
/** What is on its way may still be acknowledged when the log is closed. */
const LAST_PUBLISHES_MS = 3000;

/** Tries until the brokers are reached, or `closing` aborts. */
async function untilReached(core: KafkaCore, reach: () => Promise<void>, closing: AbortSignal) {
  for (let failures = 0; !closing.aborted; failures += 1) {
    try {
      await reach();
      return core.reached();
    } catch (error) {
      core.explain(error);
      await pause(backOffMs(CONNECT_BACK_OFF, failures, core.context.random), closing);
    }
  }
}

/**
 * Connects the producer before the first publish, so that health and readiness tell the truth from the start, and looks whether the
 * brokers can be reached again after a publish that failed: the next one may be long in coming.
 */
function watchProducer(core: KafkaCore, producer: KafkaProducer, closing: AbortSignal) {
  const knock = (): Promise<void> => withAdmin(core.options, core.context, async () => undefined);
  let trying = Promise.resolve();
  let isTrying = false;
  const start = (reach: () => Promise<void>): void => {
    if (isTrying) return;
    isTrying = true;
    trying = untilReached(core, reach, closing).finally(() => {
      isTrying = false;
    });
  };
  // Who only asks may never publish, and what cannot be reached would hold up its end.
  if (core.options.waits === 'long') start(producer.connect);
  return {
    failed: (): void => {
      if (core.options.waits === 'long' && !core.health().connected) start(knock);
    },
    ended: () => trying,
  };
}

/** Runs `work`; what kafkajs reports is told in our words. */
async function explained<T>(core: KafkaCore, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    core.reached();
    return result;
  } catch (error) {
    throw core.explain(error);
  }
}

function createPublish(core: KafkaCore, producer: KafkaProducer, onFailure: () => void) {
  const { send } = producer;
  const { sends } = timeLimits(core.options);
  const patience = { send, random: core.context.random, wait: (ms: number) => sleep(ms), tries: sends };
  const publisher = createPublisher({ send, sendPatiently: (batch) => sendPatiently(patience, batch) });
  const requireDeclared = createDeclaredCheck(core);
  const publish = async (records: readonly OutgoingRecord[]): Promise<void> => {
    if (records.length === 0) return;
    await refuseTooLarge(records);
    try {
      await explained(core, async () => {
        await requireDeclared([...new Set(records.map(({ topic }) => topic))]);
        await publisher.publish(records);
      });
    } catch (error) {
      onFailure();
      throw error;
    }
  };
  return { publish, idle: publisher.idle };
}

/**
 * The event log of a fleet, on Kafka. Opening waits for nothing: what needs the brokers tries again with back-off, and
 * `health` says whether they are reached. Throws `CONFIG_INVALID` when a file with a secret cannot be read.
 */
export async function openKafkaLog(options: KafkaOptions, context: EventLogContext): Promise<EventLog> {
  secretsOf(options);
  const core = createCore(options, context);
  const own = core.forClient('producer');
  const producer = createProducer(own);
  const closing = new AbortController();
  const watch = watchProducer(own, producer, closing.signal);
  const { publish, idle } = createPublish(own, producer, watch.failed);
  const members = new Set<ActiveSubscription>();
  const renewing = options.waits === 'long' ? renewConnections({ core }, closing.signal) : Promise.resolve();
  const ask = async <T>(work: AdminWork<T>): Promise<T> => {
    using administrator = core.forClient('administrator');
    return await explained(administrator, () => withAdmin(options, context, work));
  };

  return {
    publish,
    subscribe: async (subscription, handle) => {
      const member = startMember(core, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) =>
      readRecords(core, request, AbortSignal.any([closing.signal, ...(signal ? [signal] : [])])),
    createTopics: () => ask((admin) => createMissing(admin, options)),
    checkTopics: () => ask((admin, inTime) => inTime(findDifferences(admin, options))),
    servers: () => ask((admin, inTime) => inTime(brokerAddresses(admin))),
    groups: (names) => ask((admin, inTime) => inTime(groupProgress(admin, names))),
    health: core.health,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      await waitAtMost(idle(), LAST_PUBLISHES_MS);
      closing.abort();
      await producer.disconnect();
      await waitAtMost(Promise.all([watch.ended(), renewing]), LAST_PUBLISHES_MS);
    },
  };
}
