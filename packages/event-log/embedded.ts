import type { TopicName } from '../../schemas/events/topics.ts';
import { type EmbeddedCore, type EmbeddedOptions, openCore } from './embedded/core.ts';
import { startMember } from './embedded/member.ts';
import { readRecords } from './embedded/read.ts';
import { cleanForever } from './embedded/retention.ts';
import { refuseTooLarge } from './limits.ts';
import { TOPIC_NAMES } from './partition.ts';
import type { ActiveSubscription, EventLog, EventLogContext, OutgoingRecord } from './port.ts';

/** The first publish to a topic refuses another number of partitions than declared; later ones keep to ours. */
function createPublish(core: EmbeddedCore): (records: readonly OutgoingRecord[]) => Promise<void> {
  const checked = new Set<TopicName>();

  return async (records) => {
    if (records.length === 0) return;
    await refuseTooLarge(records);
    const topics = new Set(records.map(({ topic }) => topic).filter((topic) => !checked.has(topic)));
    await core.database.write((tables) => {
      for (const topic of topics) tables.partitions.requireDeclared(topic);
      tables.records.append(records, core.context.now());
    });
    for (const topic of topics) checked.add(topic);
    core.changes.notify();
  };
}

/**
 * The event log of one machine: an SQLite file that processes share. A publish is one transaction, kept whole or not
 * at all. Throws `LOG_BUSY`, `LOG_FULL`, `LOG_CORRUPT` or `LOG_UNREACHABLE`.
 */
export async function openEmbeddedLog(options: EmbeddedOptions, context: EventLogContext): Promise<EventLog> {
  const core = await openCore(options, context);
  const closing = new AbortController();
  const members = new Set<ActiveSubscription>();
  const cleaning = options.leavesRetention
    ? Promise.resolve()
    : cleanForever(core, options.maxBytes, closing.signal);

  return {
    publish: createPublish(core),
    subscribe: async (subscription, handle) => {
      const member = startMember(core, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) =>
      readRecords(core, request, AbortSignal.any([closing.signal, ...(signal ? [signal] : [])])),
    createTopics: async () => {
      const created = await core.database.write(({ partitions }) => partitions.createMissing());
      core.changes.notify();
      return created;
    },
    checkTopics: () =>
      core.database.read(({ partitions }) =>
        TOPIC_NAMES.map((topic) => partitions.difference(topic)).filter((difference) => difference !== null),
      ),
    servers: async () => [options.path],
    groups: (names) =>
      core.database.read((tables) => names.map((group) => tables.groups.progress(group, context.now()))),
    health: () => ({ connected: core.database.problem() === null, problem: core.database.problem() }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      closing.abort();
      await cleaning;
      core.changes.close();
      core.database.close();
    },
  };
}
