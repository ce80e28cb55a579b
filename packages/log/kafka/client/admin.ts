import kafkajs from 'kafkajs';
import type { EventLogContext } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import type { AccessAdmin } from './access.ts';
import { openClient } from './client.ts';
import { unanswered } from './errors.ts';
import type { KafkaOptions } from './options.ts';
import { timeLimits } from './time-limits.ts';
import { watchAnswers } from './watchdog.ts';

const END_MS = 1000;
const NEVER = new AbortController().signal;

/** By this number Kafka knows the settings of topics from those of brokers. */
export const TOPIC_RESOURCE: number = kafkajs.ConfigResourceTypes.TOPIC;

/** What is used of kafkajs's administrator. */
export interface Admin extends AccessAdmin {
  /** Addresses are of the brokers that are there. */
  describeCluster(): Promise<{
    readonly brokers: readonly { readonly host: string; readonly port: number }[];
  }>;
  listTopics(): Promise<readonly string[]>;
  fetchTopicMetadata(of: { readonly topics: string[] }): Promise<{
    readonly topics: readonly {
      readonly name: string;
      /** The leader is -1 while there is none; replicas are the ids of the brokers that are to have a copy. */
      readonly partitions: readonly { readonly leader: number; readonly replicas: readonly number[] }[];
    }[];
  }>;
  createTopics(request: {
    readonly waitForLeaders: boolean;
    readonly timeout: number;
    readonly topics: {
      readonly topic: string;
      readonly numPartitions: number;
      readonly replicationFactor: number;
      readonly configEntries: { readonly name: string; readonly value: string }[];
    }[];
  }): Promise<boolean>;
  describeConfigs(request: {
    readonly includeSynonyms: boolean;
    readonly resources: { readonly type: number; readonly name: string }[];
  }): Promise<{
    readonly resources: readonly {
      readonly resourceName: string;
      readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
    }[];
  }>;
  describeGroups(groupIds: string[]): Promise<{
    readonly groups: readonly { readonly groupId: string; readonly members: readonly unknown[] }[];
  }>;
  /** The offset is -1 where nothing was committed. */
  fetchOffsets(of: { readonly groupId: string }): Promise<
    readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
    }[]
  >;
  fetchTopicOffsets(
    topic: string,
  ): Promise<readonly { readonly partition: number; readonly low: string; readonly high: string }[]>;
}

/** Settles as what it is given, or rejects when brokers are silent for too long. */
type InTime = <T>(asked: Promise<T>) => Promise<T>;

export type AdminWork<T> = (admin: Admin, inTime: InTime) => Promise<T>;

/** Runs `work` with an administrator's connection of its own. Throws `LOG_UNREACHABLE` when no broker is reached in time. */
export async function withAdmin<T>(
  options: KafkaOptions,
  context: EventLogContext,
  work: AdminWork<T>,
): Promise<T> {
  const { silenceMs } = timeLimits(options);
  using watchdog = watchAnswers(silenceMs, () => unanswered(options.brokers, silenceMs));
  const inTime: InTime = (asked) => watchdog.waitFor(asked, NEVER);
  // Creating many topics may take a broker longer than somebody waits for an answer.
  const client = openClient({ ...options, waits: 'long' }, context);
  const admin = client.kafka.admin();
  try {
    await inTime(admin.connect());
    watchdog.answered();
    return await work(admin, inTime);
  } finally {
    await waitAtMost(admin.disconnect(), END_MS);
    client.cutConnections();
  }
}
