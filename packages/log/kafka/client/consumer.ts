import {
  AssignerProtocol,
  type GroupMemberAssignment,
  type Consumer as KafkajsConsumer,
  type PartitionAssigner,
} from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { topicSpec } from '../../partition.ts';
import type { EventLogContext, Subscription } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { missingTopic, partitionDifference, refusal } from '../../topic-differences.ts';
import { type KafkaClient, openClient } from './client.ts';
import type { Cluster, KafkajsCluster } from './cluster.ts';
import { protocolType } from './errors.ts';
import { logicalName, namedCluster, physicalName } from './names.ts';
import type { KafkaOptions } from './options.ts';

/**
 * A member that was silent for so long has lost its partitions.
 * @limit Session timeout of a consumer group. Keep it at or above three `HEARTBEAT_MS`.
 */
export const SESSION_TIMEOUT_MS = 10_000;
/** @limit Rebalance timeout of a consumer group. */
const REBALANCE_TIMEOUT_MS = 15_000;
const HEARTBEAT_MS = 1000;
/** All partitions of kafkajs's own loop are paused: it only sleeps so long between its heartbeats, and at a stop. */
const LOOP_PAUSE_MS = 500;
/** How soon a member learns that a topic was changed behind its back. */
const METADATA_MAX_AGE_MS = 10_000;
/** For the end of kafkajs's loop, and for leaving the group. */
const LEAVE_MS = 1500;
/** A coordinator that does not answer is not waited for: the next member can join all the same. */
const FORMER_LEAVE_MS = 2000;

/** What a member hears of its group. */
interface GroupListener {
  /** At each sign of life. */
  readonly alive: () => void;
  /** The group gave it these partitions, at first or after a rebalance. */
  readonly joined: (memberId: string, assignment: Assignment) => void;
  /** Nothing is heard after it. */
  readonly crashed: (error: Error) => void;
}

interface OffsetCommit {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly metadata: string | null;
}

/** As what a subscription was in its group before; `null` before it ever was. */
export interface FormerMember {
  memberId: string | null;
}

/**
 * kafkajs's consumer, and the connections that it makes: reading is done with them directly. Its own loop only keeps the membership of
 * a group, with every partition paused.
 */
export class Consumer {
  readonly #options: KafkaOptions;
  readonly #context: EventLogContext;
  readonly #group: string;
  readonly #topics: readonly TopicName[];
  readonly #client: KafkaClient;
  readonly #consumer: KafkajsConsumer;
  readonly cluster: Cluster;

  /** Nothing is connected yet, and no group is joined before `join`. */
  constructor(
    options: KafkaOptions,
    context: EventLogContext,
    { group, topics }: Pick<Subscription, 'group' | 'topics'>,
  ) {
    this.#options = options;
    this.#context = context;
    this.#group = group;
    this.#topics = topics;
    this.#client = openClient(options, context);
    const captured: { cluster: KafkajsCluster | null } = { cluster: null };
    this.#consumer = this.#client.kafka.consumer({
      groupId: physicalName(options, group),
      partitionAssigners: [
        assignerFor(topics, options, (cluster) => {
          captured.cluster = cluster;
        }),
      ],
      sessionTimeout: SESSION_TIMEOUT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: LOOP_PAUSE_MS,
      metadataMaxAge: METADATA_MAX_AGE_MS,
      allowAutoTopicCreation: false,
      // kafkajs's own restarts know no jitter and no bound; the supervisor starts anew.
      retry: { restartOnFailure: async () => false },
    });
    if (captured.cluster === null) throw new TypeError('kafkajs made a consumer without asking its assigner');
    this.cluster = namedCluster(captured.cluster, options);
  }

  /** Connects, and learns of the topics. Throws `TOPICS_MISSING`, or `TOPICS_DIFFER` for another number of partitions. */
  async connect(): Promise<void> {
    await this.#consumer.connect();
    for (const topic of this.#topics) {
      await this.cluster.addTargetTopic(topic).catch((error) => {
        throw protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION'
          ? refusal(missingTopic(topic, this.#options))
          : error;
      });
      const found = this.cluster.findTopicPartitionMetadata(topic).length;
      const difference = partitionDifference(topic, found, this.#options);
      if (difference !== null) throw refusal(difference);
    }
  }

  /**
   * kafkajs joins again under another name, and the group would wait for the old one until its session has timed out. Where
   * the old one left in order, or is forgotten, there is nothing to do.
   */
  async leaveAs(former: FormerMember): Promise<void> {
    const { memberId } = former;
    if (memberId === null) return;
    const leaving = this.#leave(memberId).then(
      () => {
        // An answer that comes late finds the next member there.
        if (former.memberId === memberId) former.memberId = null;
      },
      (error) =>
        this.#context.logger.debug(
          { err: error, group: this.#group, memberId },
          'the former member could not leave',
        ),
    );
    await waitAtMost(leaving, FORMER_LEAVE_MS);
  }

  async join(listener: GroupListener): Promise<void> {
    this.#listen(listener);
    await this.#consumer.subscribe({
      topics: this.#topics.map((topic) => physicalName(this.#options, topic)),
      fromBeginning: true,
    });
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // Nothing is fetched while all is paused; if something was all the same, it is not resolved and comes again.
      eachBatch: async ({ batch, pause }) => {
        this.#context.logger.debug(
          { topic: batch.topic, partition: batch.partition },
          'a paused partition was fetched',
        );
        pause();
      },
    });
  }

  commitOffsets(commits: readonly OffsetCommit[]): Promise<void> {
    return this.#consumer.commitOffsets(
      commits.map((commit) => ({ ...commit, topic: physicalName(this.#options, commit.topic) })),
    );
  }

  /** Ends every connection at once; it connects again by itself. */
  cutConnections(): void {
    this.#client.cutConnections();
  }

  /** Leaves the group and ends the connections, also those that wait for data, within bounds. */
  async disconnect(): Promise<void> {
    const quietly = (work: Promise<void>): Promise<void> =>
      work.catch((error) => this.#context.logger.debug({ err: error }, 'a consumer did not end in order'));
    await waitAtMost(quietly(this.#consumer.stop()), LEAVE_MS);
    this.cutConnections();
    await waitAtMost(quietly(this.#consumer.disconnect()), LEAVE_MS);
    this.cutConnections();
  }

  #listen({ alive, joined, crashed }: GroupListener): void {
    const { events } = this.#consumer;
    this.#consumer.on(events.HEARTBEAT, alive);
    this.#consumer.on(events.REBALANCING, alive);
    this.#consumer.on(events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
      const given = Object.entries(memberAssignment);
      this.#consumer.pause(given.map(([topic, partitions]) => ({ topic, partitions })));
      joined(memberId, this.#logical(memberAssignment));
    });
    this.#consumer.on(events.CRASH, ({ payload }) => crashed(payload.error));
  }

  #logical(given: Assignment): Assignment {
    return Object.fromEntries(
      Object.entries(given).flatMap(([topic, partitions]) => {
        const name = logicalName(this.#options, topic);
        return name === null ? [] : [[name, partitions]];
      }),
    );
  }

  async #leave(memberId: string): Promise<void> {
    const groupId = this.#group;
    try {
      const coordinator = await this.cluster.findGroupCoordinator({ groupId });
      await coordinator.leaveGroup?.({ groupId, memberId });
    } catch (error) {
      if (protocolType(error) !== 'UNKNOWN_MEMBER_ID') throw error;
    }
  }
}

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
const VERSION = 0;
const NAME = 'fleetgc-shared';
/** Members tell each other nothing. */
const USER_DATA = Buffer.from('{}');

/** Partitions of a member, by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** Who gets what, by member. Only declared partitions are ever given out, whatever the broker has. */
type Plan = ReadonlyMap<string, Record<string, number[]>>;

/** Partition n of every topic goes to the same member. */
export function planShared(
  members: readonly { readonly memberId: string }[],
  topics: readonly TopicName[],
): Plan {
  const ids = members.map(({ memberId }) => memberId).toSorted();
  const owned = (index: number, topic: TopicName): number[] =>
    Array.from({ length: topicSpec(topic).partitions }, (_, partition) => partition).filter(
      (partition) => partition % ids.length === index,
    );
  return new Map(
    ids.map((id, index) => [id, Object.fromEntries(topics.map((topic) => [topic, owned(index, topic)]))]),
  );
}

const encodePlan = (plan: Plan, options: KafkaOptions): GroupMemberAssignment[] =>
  [...plan].map(([memberId, given]) => {
    const assignment = Object.fromEntries(
      Object.entries(given).map(([topic, partitions]) => [physicalName(options, topic), partitions]),
    );
    return {
      memberId,
      memberAssignment: MemberAssignment.encode({ version: VERSION, assignment, userData: Buffer.alloc(0) }),
    };
  });

/** The group protocol of a subscription. `onCluster` gets the connections of the consumer, for reading with them. */
const assignerFor =
  (
    topics: readonly TopicName[],
    options: KafkaOptions,
    onCluster: (cluster: KafkajsCluster) => void,
  ): PartitionAssigner =>
  ({ cluster }) => {
    onCluster(cluster);
    return {
      name: NAME,
      version: VERSION,
      protocol: (subscribed) => ({
        name: NAME,
        metadata: MemberMetadata.encode({ version: VERSION, topics: subscribed.topics, userData: USER_DATA }),
      }),
      assign: async ({ members }) => encodePlan(planShared(members, topics), options),
    };
  };
