import type { TopicName } from '../../schemas/events/topics.ts';
import { startGroupMember } from './embedded/group-member.ts';
import { type OpenedLog, openLogFile } from './embedded/opened-log.ts';
import type { EmbeddedOptions } from './embedded/options.ts';
import { readRecords } from './embedded/read.ts';
import { cleanForever } from './embedded/retention.ts';
import { refuseTooLarge } from './limits.ts';
import { TOPIC_NAMES } from './partition.ts';
import type { ActiveSubscription, EventLog, EventLogContext, OutgoingRecord } from './port.ts';

/** The first publish to a topic refuses another number of partitions than declared; later ones keep to ours. */
function createPublish(opened: OpenedLog): (records: readonly OutgoingRecord[]) => Promise<void> {
  const checked = new Set<TopicName>();

  return async (records) => {
    if (records.length === 0) return;
    await refuseTooLarge(records);
    const topics = new Set(records.map(({ topic }) => topic).filter((topic) => !checked.has(topic)));
    await opened.database.write((tables) => {
      for (const topic of topics) tables.partitions.requireDeclared(topic);
      tables.records.append(records, opened.context.now());
    });
    for (const topic of topics) checked.add(topic);
    opened.changes.notify();
  };
}

/**
 * The event log of one machine: an SQLite file that processes share. A publish is one transaction, kept whole or not
 * at all. Throws `LOG_BUSY`, `LOG_FULL`, `LOG_CORRUPT` or `LOG_UNREACHABLE`.
 */
export async function openEmbeddedLog(options: EmbeddedOptions, context: EventLogContext): Promise<EventLog> {
  const opened = await openLogFile(options, context);
  const closing = new AbortController();
  const members = new Set<ActiveSubscription>();
  const cleaning = options.leavesRetention
    ? Promise.resolve()
    : cleanForever(opened, options.maxBytes, closing.signal);

  return {
    publish: createPublish(opened),
    subscribe: async (subscription, handle) => {
      const member = startGroupMember(opened, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) => readRecords(opened, request, [closing.signal, ...(signal ? [signal] : [])]),
    createTopics: async () => {
      const created = await opened.database.write(({ partitions }) => partitions.createMissing());
      opened.changes.notify();
      return created;
    },
    checkTopics: () =>
      opened.database.read(({ partitions }) =>
        TOPIC_NAMES.map((topic) => partitions.difference(topic)).filter((difference) => difference !== null),
      ),
    servers: async () => [options.path],
    groups: (names) =>
      opened.database.read((tables) => names.map((group) => tables.groups.progress(group, context.now()))),
    health: () => ({ connected: opened.database.problem() === null, problem: opened.database.problem() }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      closing.abort();
      await cleaning;
      opened.changes.close();
      opened.database.close();
    },
  };
}
