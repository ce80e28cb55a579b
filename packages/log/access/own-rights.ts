import { FleetGcError } from '../../process/errors.ts';
import type { Broker, Cluster } from '../kafka/client/cluster.ts';
import { Consumer } from '../kafka/client/consumer.ts';
import { toEventLogError, unanswered } from '../kafka/client/errors.ts';
import type { KafkaOptions } from '../kafka/client/options.ts';
import { timeLimits } from '../kafka/client/time-limits.ts';
import { watchAnswers } from '../kafka/client/watchdog.ts';
import { decodeTopicRights, type TopicRights, topicRightsRequest } from '../kafka/protocol/topic-rights.ts';
import { TOPIC_NAMES } from '../partition.ts';
import type { EventLogContext } from '../port.ts';

const NEVER = new AbortController().signal;

/** By topic. */
export type OwnRights = ReadonlyMap<string, TopicRights>;

/**
 * What the brokers let this login do with each topic, as they say themselves: nothing is tried. Throws `LOG_UNREACHABLE` and
 * `LOG_UNAUTHORIZED`.
 */
export async function ownRights(options: KafkaOptions, context: EventLogContext): Promise<OwnRights> {
  const { silenceMs } = timeLimits(options);
  using watchdog = watchAnswers(silenceMs, () => unanswered(options.brokers, silenceMs));
  const consumer = new Consumer(options, context, { group: 'none', topics: [] });
  try {
    return await watchdog.waitFor(askedOf(consumer), NEVER);
  } catch (error) {
    throw toEventLogError(options.brokers, error);
  } finally {
    await consumer.disconnect();
  }
}

async function askedOf(consumer: Consumer): Promise<OwnRights> {
  await consumer.connect();
  const { connectionPool } = await anyBroker(consumer.cluster);
  if (connectionPool === undefined)
    throw new FleetGcError('INTERNAL', 'the client library shows its connections no more');
  return await connectionPool.send({
    request: topicRightsRequest(TOPIC_NAMES),
    response: { decode: decodeTopicRights, parse: async (decoded) => decoded },
  });
}

async function anyBroker(cluster: Cluster): Promise<Broker> {
  await cluster.refreshMetadata();
  const [nodeId] = cluster.getNodeIds();
  return await cluster.findBroker({ nodeId: String(nodeId) });
}
