import type { FetchedMessage } from '../protocol/record-batches.ts';

/**
 * What is used of kafkajs, in types of our own: nothing outside of this folder knows the library. The compiler holds them against its
 * declarations, and a test against what it runs (`test/packages/log/kafka/kafkajs-insides.test.ts`), since those leave some out.
 */
export interface KafkajsCluster {
  connect(): Promise<void>;
  isConnected(): boolean;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  removeBroker(address: { readonly host: string; readonly port: number }): void;
  /** Empty for a topic that is not known. */
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  /** Partitions by the id of the broker that leads them. */
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
  getNodeIds(): readonly number[];
  findBroker(node: { readonly nodeId: string }): Promise<Broker>;
  findGroupCoordinator(group: { readonly groupId: string }): Promise<Coordinator>;
  fetchTopicsOffset(topics: readonly OffsetQuery[]): Promise<readonly TopicOffsets[]>;
}

/** The same by the names of topics and groups that the rest of FleetGC knows, which have no prefix. */
export interface Cluster extends KafkajsCluster {
  /** What the brokers call a topic, for people who look for it there. */
  nameOf(topic: string): string;
}

export interface PartitionMetadata {
  readonly partitionId: number;
  /** -1 while there is none. */
  readonly leader: number;
}

export type OffsetQuery = {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number }[];
} & ({ readonly fromBeginning: boolean } | { readonly fromTimestamp: number });

export interface TopicOffsets {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
}

export interface Broker {
  fetch(request: FetchRequest): Promise<FetchAnswer>;
  /** For requests that kafkajs does not know; its declarations do not tell of it. */
  readonly connectionPool?: { send<T>(asked: OwnRequest<T>): Promise<T> };
}

/** A request of our own, and how its answer is read. */
export interface OwnRequest<T> {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    readonly encode: () => Promise<{
      readonly buf: Buffer;
      readonly buffer: Buffer;
      readonly size: () => number;
    }>;
  };
  readonly response: {
    readonly decode: (answer: Buffer) => Promise<T>;
    readonly parse: (decoded: T) => Promise<T>;
  };
}

export interface FetchRequest {
  readonly isolationLevel?: number;
  readonly maxWaitTime: number;
  readonly minBytes?: number;
  readonly maxBytes?: number;
  readonly topics: {
    readonly topic: string;
    readonly partitions: {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
}

/** What a broker answers, as `protocol/fetch-response.ts` decodes it. */
export interface FetchAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

export interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedMessage[];
}

/** The broker that looks after a group. */
export interface Coordinator {
  offsetFetch(request: {
    readonly groupId: string;
    readonly topics: readonly TopicOffsets[];
  }): Promise<{ readonly responses: readonly CommittedOffsets[] }>;
  /** kafkajs's declarations do not tell of it. */
  leaveGroup?(member: { readonly groupId: string; readonly memberId: string }): Promise<unknown>;
}

export interface CommittedOffsets {
  readonly topic: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly offset: string;
    /** What was committed beside the offset; kafkajs's declarations do not tell of it. */
    readonly metadata?: string | null;
  }[];
}
