import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { FleetGcError } from '../../../process/errors.ts';
import type { EventLogContext, EventLogHealth } from '../../port.ts';
import { type OngoingProblem, ongoingProblem } from '../../problems.ts';
import type { KafkaClient } from './client.ts';
import { passesByItself, toEventLogError } from './errors.ts';
import { type ClientHealth, Health } from './health.ts';
import type { KafkaOptions } from './options.ts';

/** What all clients of an open log share. */
interface Shared {
  readonly options: KafkaOptions;
  readonly context: EventLogContext;
  readonly health: Health;
  readonly outage: OngoingProblem;
  readonly clients: Set<Pick<KafkaClient, 'cutConnections'>>;
}

/** What belongs to the open log, for one of its clients: settings, surroundings, and whether the brokers can be reached. */
export class KafkaConnection implements Disposable {
  readonly #shared: Shared;
  readonly #client: ClientHealth;
  /** What a client still reports that was given up says nothing of the one that took its place. */
  #isDisposed = false;

  constructor(shared: Shared, client: ClientHealth) {
    this.#shared = shared;
    this.#client = client;
  }

  get options(): KafkaOptions {
    return this.#shared.options;
  }

  get context(): EventLogContext {
    return this.#shared.context;
  }

  /** Clients that keep connections; each adds itself, and takes itself out in the end. */
  get clients(): Set<Pick<KafkaClient, 'cutConnections'>> {
    return this.#shared.clients;
  }

  /**
   * The same for one client of several, which reaches the brokers or not whatever the others do: a producer that is refused
   * must not look well because a consumer goes on over a connection that it made before. Who has the same name is the same client.
   * Disposed of, its problem is forgotten.
   */
  forClient(name: string): KafkaConnection {
    return new KafkaConnection(this.#shared, this.#shared.health.clientOf(name));
  }

  /**
   * Says what kafkajs reported in our words, and notes when it means that the brokers are out of reach. An outage is logged when it
   * begins, when it ends, and at growing intervals while it lasts, however often it is met.
   */
  explain(error: unknown): FleetGcError {
    const { options, outage, health } = this.#shared;
    const failure = toEventLogError(options.brokers, error);
    if (failure.code !== 'LOG_UNREACHABLE' && failure.code !== 'LOG_UNAUTHORIZED') return failure;
    const fields = { code: failure.code, client: this.#client.name };
    if (passesByItself(error)) outage.passes(failure.code, fields, failure.message);
    else outage.occurred(failure.code, fields, failure.message);
    if (!this.#isDisposed) health.note(this.#client, failure.message);
    return failure;
  }

  /** To be called when a broker answered. */
  reached(): void {
    const { options, context, outage, health } = this.#shared;
    if (this.#isDisposed) return;
    health.note(this.#client, null);
    if (health.of().connected && outage.resolved())
      context.logger.info({ brokers: options.brokers }, 'Kafka is reached again');
  }

  health(follows?: TopicName): EventLogHealth {
    return this.#shared.health.of(follows);
  }

  /** To be called with what is wrong with the partitions of a topic, `null` when nothing is: while anything is, all stands still. */
  noteTopic(topic: TopicName, problem: string | null): void {
    if (!this.#isDisposed) this.#shared.health.noteTopic(topic, problem);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#shared.health.forget(this.#client);
  }
}

export function createConnection(options: KafkaOptions, context: EventLogContext): KafkaConnection {
  const health = new Health();
  const outage = ongoingProblem(context);
  return new KafkaConnection({ options, context, health, outage, clients: new Set() }, health.former);
}
