import type { FleetGcError } from '../../errors.ts';
import { lastingTrouble } from '../../lasting-trouble.ts';
import type { EventLogContext } from '../context.ts';
import type { LogHealth } from '../port.ts';
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
  readonly health: () => LogHealth;
}

/** An outage is logged when it begins, when it ends, and at growing intervals while it lasts, however often it is met. */
export function createCore(options: KafkaOptions, context: EventLogContext): KafkaCore {
  let health: LogHealth = { connected: false, problem: 'Kafka was not reached yet.' };
  const outage = lastingTrouble(context);

  return {
    options,
    context,
    explain: (error) => {
      const failure = toLogError(options.brokers, error);
      if (failure.code !== 'LOG_UNREACHABLE' && failure.code !== 'LOG_UNAUTHORIZED') return failure;
      outage.met(failure.code, { code: failure.code }, failure.message);
      health = { connected: false, problem: failure.message };
      return failure;
    },
    reached: () => {
      if (outage.well()) context.logger.info({ brokers: options.brokers }, 'Kafka is reached again');
      health = { connected: true, problem: null };
    },
    health: () => health,
  };
}
