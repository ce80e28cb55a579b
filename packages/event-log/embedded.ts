import type { TopicName } from '../../schemas/events/topics.ts';
import { append, requireDeclared } from './embedded/append.ts';
import { watchChanges } from './embedded/changes.ts';
import { openDatabase } from './embedded/database.ts';
import { watchEnds } from './embedded/ends.ts';
import { groupProgress } from './embedded/group-progress.ts';
import { startMember } from './embedded/member.ts';
import type { EmbeddedCore } from './embedded/membership.ts';
import { readRecords } from './embedded/read.ts';
import { cleanForever, removeOldest } from './embedded/retention.ts';
import type { Statements } from './embedded/statements.ts';
import { refuseTooLarge } from './limits.ts';
import { TOPIC_NAMES, topicSpec } from './partition.ts';
import type {
  ActiveSubscription,
  EventLog,
  EventLogContext,
  OutgoingRecord,
  TopicDifference,
} from './port.ts';
import { partitionDifference } from './topic-differences.ts';

export interface EmbeddedOptions {
  /** The SQLite file; created when missing, with its directory. */
  readonly path: string;
  /** The file never grows beyond this; the oldest records go first, and before it is reached. */
  readonly maxBytes: number;
  /** Whether retention is left to other processes: who only asks must not change what the log has to say. */
  readonly leavesRetention?: boolean | undefined;
  /** Whether the file keeps 25 MB, so that it can be written while its disk is full. */
  readonly keepsSpace?: boolean | undefined;
}

function createMissing(statements: Statements): TopicName[] {
  const missing = TOPIC_NAMES.filter((topic) => statements.countPartitions(topic) === 0);
  for (const topic of missing) {
    const { partitions } = topicSpec(topic);
    for (let number = 0; number < partitions; number += 1) statements.addPartition(topic, number);
  }
  return missing;
}

const differences = (statements: Statements): TopicDifference[] =>
  TOPIC_NAMES.map((topic) =>
    partitionDifference(topic, statements.countPartitions(topic), statements.creation),
  ).filter((difference) => difference !== null);

async function openCore(options: EmbeddedOptions, context: EventLogContext): Promise<EmbeddedCore> {
  const keeping = options.keepsSpace
    ? { tell: (message: string) => context.logger.error(message), removeOldest }
    : null;
  const database = await openDatabase(options.path, options.maxBytes, keeping);
  const changes = watchChanges(database, options.path);
  return { database, changes, ends: watchEnds(database, changes), context };
}

/** The first publish to a topic refuses another number of partitions than declared; later ones keep to ours. */
function createPublish(core: EmbeddedCore): (records: readonly OutgoingRecord[]) => Promise<void> {
  const checked = new Set<TopicName>();

  return async (records) => {
    if (records.length === 0) return;
    await refuseTooLarge(records);
    const topics = new Set(records.map(({ topic }) => topic).filter((topic) => !checked.has(topic)));
    await core.database.write((statements) => {
      for (const topic of topics) requireDeclared(statements, topic);
      append(statements, records, core.context.now());
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
      const created = await core.database.write(createMissing);
      core.changes.notify();
      return created;
    },
    checkTopics: () => core.database.read(differences),
    servers: async () => [options.path],
    groups: (names) =>
      core.database.read((statements) =>
        names.map((group) => groupProgress(statements, group, context.now())),
      ),
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
