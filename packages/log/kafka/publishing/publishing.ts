import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, pause } from '../../../process/backoff.ts';
import { refuseTooLarge } from '../../limits.ts';
import type { OutgoingRecord } from '../../port.ts';
import { RETRY_BACKOFFS } from '../../retry-backoffs.ts';
import { waitAtMost } from '../../stopping.ts';
import { DeclaredCheck } from '../admin/declared-partitions.ts';
import { withAdmin } from '../client/admin.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { Producer } from '../client/producer.ts';
import { timeLimits } from '../client/time-limits.ts';
import { Publisher, sendWithRetries } from './publisher.ts';

/** What is on its way may still be acknowledged when the log is closed. */
const LAST_PUBLISHES_MS = 3000;

/** All publishing of an open log. */
export class Publishing {
  readonly #connection: KafkaConnection;
  readonly #producer: Producer;
  readonly #publisher: Publisher;
  readonly #declared: DeclaredCheck;
  readonly #closing: AbortSignal;
  #reaching: Promise<void> | null = null;

  /**
   * Connects before the first publish, so that health and readiness tell the truth from the start. Who only asks may never publish, and
   * what cannot be reached would hold up its end. `closing` aborts when nothing is to be tried any more.
   */
  constructor(connection: KafkaConnection, closing: AbortSignal) {
    this.#connection = connection;
    this.#closing = closing;
    this.#producer = new Producer(connection);
    this.#declared = new DeclaredCheck(connection);
    const send: Producer['send'] = (batches) => this.#producer.send(batches);
    const { random } = connection.context;
    const retries = {
      send,
      random,
      wait: (ms: number) => sleep(ms),
      tries: timeLimits(connection.options).sends,
    };
    this.#publisher = new Publisher({ send, sendWithRetries: (batch) => sendWithRetries(retries, batch) });
    if (connection.options.waits === 'long') this.#reach(() => this.#producer.connect());
  }

  async publish(records: readonly OutgoingRecord[]): Promise<void> {
    if (records.length === 0) return;
    await refuseTooLarge(records);
    try {
      await this.#declared.require(new Set(records.map(({ topic }) => topic)));
      await this.#publisher.publish(records);
      this.#connection.reached();
    } catch (error) {
      const failure = this.#connection.explain(error);
      this.#lookForBrokers();
      throw failure;
    }
  }

  /** Lets what is on its way be acknowledged, within bounds. */
  async flush(): Promise<void> {
    await waitAtMost(this.#publisher.idle(), LAST_PUBLISHES_MS);
  }

  /** After `closing` aborted. */
  async disconnect(): Promise<void> {
    await this.#producer.disconnect();
    await waitAtMost(this.#reaching ?? Promise.resolve(), LAST_PUBLISHES_MS);
  }

  /** After a publish that failed: the next one, which would tell that they are there again, may be long in coming. */
  #lookForBrokers(): void {
    const { options, context } = this.#connection;
    if (options.waits === 'long' && !this.#connection.health().connected)
      this.#reach(() => withAdmin(options, context, async () => undefined));
  }

  #reach(reach: () => Promise<void>): void {
    this.#reaching ??= this.#untilReached(reach).finally(() => {
      this.#reaching = null;
    });
  }

  /** Tries until the brokers are reached, or the log is closed. */
  async #untilReached(reach: () => Promise<void>): Promise<void> {
    for (let failures = 0; !this.#closing.aborted; failures += 1) {
      try {
        await reach();
        return this.#connection.reached();
      } catch (error) {
        this.#connection.explain(error);
        await pause(
          backoffMs(RETRY_BACKOFFS.producer, failures, this.#connection.context.random),
          this.#closing,
        );
      }
    }
  }
}
