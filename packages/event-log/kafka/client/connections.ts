import type { Cluster, Consumer } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { EventLogContext, Subscription } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { missingTopic, partitionDifference, refusal } from '../../topic-differences.ts';
import { assignerFor } from '../group/assigners.ts';
import { type KafkaClient, openClient } from './client.ts';
import { protocolType } from './errors.ts';
import type { KafkaOptions } from './options.ts';

/** kafkajs's consumer, and the connections it made: reading is done with them directly. */
export interface Connections {
  readonly client: KafkaClient;
  readonly consumer: Consumer;
  readonly cluster: Cluster;
}

/** A member that was silent for so long has lost its partitions. */
export const SESSION_TIMEOUT_MS = 10_000;
const REBALANCE_TIMEOUT_MS = 15_000;
const HEARTBEAT_MS = 1000;
/** All partitions of kafkajs's own loop are paused: it only sleeps so long between its heartbeats, and at a stop. */
const LOOP_PAUSE_MS = 500;
/** How soon a member learns that a topic was changed behind its back. */
const METADATA_MAX_AGE_MS = 10_000;
const LEAVE_MS = 1500;

/** Makes a client for one member or reader. Nothing is connected yet, and no group is joined before the consumer runs. */
export function prepareConnections(
  options: KafkaOptions,
  context: EventLogContext,
  { group, topics }: Pick<Subscription, 'group' | 'topics'>,
): Connections {
  const client = openClient(options, context);
  let captured: Cluster | null = null;
  const consumer = client.kafka.consumer({
    groupId: group,
    partitionAssigners: [
      assignerFor(topics, (cluster) => {
        captured = cluster;
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
  const cluster: Cluster | null = captured;
  if (cluster === null) throw new TypeError('kafkajs made a consumer without asking its assigner');
  return { client, consumer, cluster };
}

/** Connects, and learns of the topics. Throws `TOPICS_MISSING`, or `TOPICS_DIFFER` for another number of partitions. */
export async function connectFor(
  { consumer, cluster }: Connections,
  topics: readonly TopicName[],
): Promise<void> {
  await consumer.connect();
  for (const topic of topics) {
    await cluster.addTargetTopic(topic).catch((error) => {
      throw protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION' ? refusal(missingTopic(topic)) : error;
    });
    const difference = partitionDifference(topic, cluster.findTopicPartitionMetadata(topic).length);
    if (difference !== null) throw refusal(difference);
  }
}

/** Leaves the group and ends the connections, also those that wait for data, within bounds. */
export async function disconnect({ client, consumer }: Connections, context: EventLogContext): Promise<void> {
  const quietly = (work: Promise<void>): Promise<void> =>
    work.catch((error) => context.logger.debug({ err: error }, 'a consumer did not end in order'));
  await waitAtMost(quietly(consumer.stop()), LEAVE_MS);
  client.cutConnections();
  await waitAtMost(quietly(consumer.disconnect()), LEAVE_MS);
  client.cutConnections();
}
