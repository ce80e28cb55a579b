import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { FleetGcError } from '../../../process/errors.ts';
import type { EventLogContext, LogHealth } from '../../port.ts';
import { lastingTrouble } from '../../problems.ts';
import type { KafkaClient } from './client.ts';
import { toLogError } from './errors.ts';
import type { KafkaOptions } from './options.ts';

/** What belongs to the open log: settings, surroundings, and whether the brokers can be reached. */
export interface KafkaCore {
  readonly options: KafkaOptions;
  readonly context: EventLogContext;
  /** Says what kafkajs reported in our words, and notes when it means that the brokers are out of reach. */
  readonly explain: (error: unknown) => FleetGcError;
  /** To be called when a broker answered. */
  readonly reached: () => void;
  readonly health: (follows?: TopicName) => LogHealth;
  /** To be called with what is wrong with the partitions of a topic, `null` when nothing is: while anything is, all stands still. */
  readonly noteTopic: (topic: TopicName, problem: string | null) => void;
  /** Clients that keep connections; each adds itself, and takes itself out in the end. */
  readonly clients: Set<Pick<KafkaClient, 'cutConnections'>>;
  /**
   * The same for one client of several, which reaches the brokers or not whatever the others do: a producer that is refused
   * must not look well because a consumer goes on over a connection that it made before. Who has the same name is the same client.
   * Disposed of, its trouble is forgotten.
   */
  readonly forClient: (name: string) => KafkaCore & Disposable;
}

/** How one client is. */
interface Standing {
  readonly name: string;
  /** `undefined`: nobody knows yet. */
  problem: string | null | undefined;
}

export const followerName = (topic: TopicName): string => `follower of ${topic}`;

function healthOf(standings: readonly Standing[]): LogHealth {
  const failing = standings.filter(({ problem }) => typeof problem === 'string');
  const last = failing.at(-1)?.problem ?? null;
  const isWell = standings.some(({ problem }) => problem === null);
  if (last === null) return { connected: isWell, problem: isWell ? null : 'Kafka was not reached yet.' };
  const each = [...new Set(failing.map(({ name, problem }) => `${name}: ${problem}`))];
  return { connected: false, problem: isWell ? each.join('; ') : last };
}

/** An outage is logged when it begins, when it ends, and at growing intervals while it lasts, however often it is met. */
export function createCore(options: KafkaOptions, context: EventLogContext): KafkaCore {
  const outage = lastingTrouble(context);
  const standings = new Set<Standing>();
  /** Somebody reached the brokers, who is not there any more. */
  const former: Standing = { name: 'kafka', problem: undefined };
  const wrongTopics = new Map<TopicName, string>();
  const health = (follows?: TopicName): LogHealth => {
    const [wrong] = wrongTopics.values();
    if (wrong !== undefined) return { connected: false, problem: wrong };
    const all = [...standings];
    // Between two readings of the same topic nobody knows more than the others do.
    const follower =
      follows && all.find(({ name, problem }) => name === followerName(follows) && problem !== undefined);
    return healthOf(follower === undefined ? all : [follower]);
  };
  const noteTopic = (topic: TopicName, problem: string | null): void => {
    if (problem === null) wrongTopics.delete(topic);
    else wrongTopics.set(topic, problem);
  };

  function coreFor(standing: Standing): KafkaCore {
    // The one that changed last comes last.
    const note = (problem: string | null): void => {
      standing.problem = problem;
      standings.delete(standing);
      standings.add(standing);
    };
    return {
      options,
      context,
      health,
      noteTopic,
      clients,
      forClient: (name) => {
        const own = [...standings].find((one) => one.name === name) ?? { name, problem: undefined };
        standings.add(own);
        const forget = (): void => {
          standings.delete(own);
          if (own.problem === null) former.problem = null;
        };
        return { ...coreFor(own), [Symbol.dispose]: forget };
      },
      explain: (error) => {
        const failure = toLogError(options.brokers, error);
        if (failure.code !== 'LOG_UNREACHABLE' && failure.code !== 'LOG_UNAUTHORIZED') return failure;
        outage.met(failure.code, { code: failure.code, client: standing.name }, failure.message);
        note(failure.message);
        return failure;
      },
      reached: () => {
        note(null);
        if (health().connected && outage.well())
          context.logger.info({ brokers: options.brokers }, 'Kafka is reached again');
      },
    };
  }

  const clients: KafkaCore['clients'] = new Set();
  standings.add(former);
  return coreFor(former);
}
