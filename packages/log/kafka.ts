import { findDifferences } from './kafka/admin/compare-topics.ts';
import { createMissing } from './kafka/admin/create-topics.ts';
import { brokerAddresses, groupProgress } from './kafka/admin/group-progress.ts';
import { type AdminWork, withAdmin } from './kafka/client/admin.ts';
import { renewConnections } from './kafka/client/credential-renewal.ts';
import { createConnection } from './kafka/client/kafka-connection.ts';
import { type KafkaOptions, secretsOf } from './kafka/client/options.ts';
import { Publishing } from './kafka/publishing/publishing.ts';
import { readRecords } from './kafka/reading/read.ts';
import { startGroupMember } from './kafka/subscribing/group-member.ts';
import type { ActiveSubscription, EventLog, EventLogContext } from './port.ts';
import { waitAtMost } from './stopping.ts';

/** For looking after certificates and passwords to end, when the log is closed. */
const LAST_LOOK_MS = 3000;

/**
 * The event log of a fleet, on Kafka. Opening waits for nothing: what needs the brokers tries again with backoff, and
 * `health` says whether they are reached. Throws `CONFIG_INVALID` when a file with a secret cannot be read.
 */
export async function openKafkaLog(options: KafkaOptions, context: EventLogContext): Promise<EventLog> {
  secretsOf(options);
  const connection = createConnection(options, context);
  const closing = new AbortController();
  const publishing = new Publishing(connection.forClient('producer'), closing.signal);
  const members = new Set<ActiveSubscription>();
  const renewing =
    options.waits === 'long' ? renewConnections({ connection }, closing.signal) : Promise.resolve();
  /** What kafkajs reports is told in our words. */
  const ask = async <T>(work: AdminWork<T>): Promise<T> => {
    using administrator = connection.forClient('administrator');
    try {
      const answer = await withAdmin(options, context, work);
      administrator.reached();
      return answer;
    } catch (error) {
      throw administrator.explain(error);
    }
  };

  return {
    publish: (records) => publishing.publish(records),
    subscribe: async (subscription, handle) => {
      const member = startGroupMember(connection, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) =>
      readRecords(connection, request, [closing.signal, ...(signal ? [signal] : [])]),
    createTopics: () => ask((admin) => createMissing(admin, options)),
    checkTopics: () => ask((admin, inTime) => inTime(findDifferences(admin, options))),
    servers: () => ask((admin, inTime) => inTime(brokerAddresses(admin))),
    groups: (names) => ask((admin, inTime) => inTime(groupProgress(admin, names))),
    health: (follows) => connection.health(follows),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      await publishing.flush();
      closing.abort();
      await Promise.all([publishing.disconnect(), waitAtMost(renewing, LAST_LOOK_MS)]);
    },
  };
}
