import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, pause } from '../../process/backoff.ts';
import { RETRY_BACKOFFS, refuseTooLarge } from '../limits.ts';
import { partitionName } from '../partition.ts';
import type { EventLogContext, LogPosition, OutgoingRecord } from '../port.ts';
import { waitAtMost } from '../stopping.ts';
import { missingTopic, refusal } from '../topic-differences.ts';
import { withAdmin } from './client/admin.ts';
import { isBetweenLeaders, protocolType, toEventLogError } from './client/errors.ts';
import type { KafkaConnection } from './client/kafka-connection.ts';
import { type Batch, Producer, toBatches } from './client/producer.ts';
import { timeLimits } from './client/time-limits.ts';
import { DeclaredCheck } from './topics.ts';

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
      prefix: connection.options.prefix,
      random,
      wait: (ms: number) => sleep(ms),
      tries: timeLimits(connection.options).sends,
    };
    this.#publisher = new Publisher({ send, sendWithRetries: (batch) => sendWithRetries(retries, batch) });
    if (connection.options.waits === 'long') this.#reach(() => this.#producer.connect());
  }

  async publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> {
    if (records.length === 0) return [];
    await refuseTooLarge(records, this.#connection.options.prefix);
    try {
      await this.#declared.require(new Set(records.map(({ topic }) => topic)));
      const positions = await this.#publisher.publish(records);
      this.#connection.reached();
      return positions;
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

/** What one request carries at most, before compression; a single larger batch goes all the same. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
/** About fifteen seconds: another broker takes over in less. */
const ELECTION_TRIES = 20;

/** Sends batches of different partitions in one request, once; resolves when all is acknowledged, to the positions of each batch. */
type Send = (batches: readonly Batch[]) => Promise<readonly (readonly LogPosition[])[]>;

interface Sending {
  readonly send: Send;
  /** Sends one batch, again and again while that may help. */
  readonly sendWithRetries: (batch: Batch) => Promise<readonly LogPosition[]>;
}

interface Waiting {
  readonly batch: Batch;
  readonly resolve: (positions: readonly LogPosition[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends what waits as soon as it may: of each partition one batch is on its way at a time, so that the order within a
 * partition holds also when one is tried again; batches of several publishes share a request. It is ours, since the queues of libraries
 * know neither.
 */
export class Publisher {
  readonly #sending: Sending;
  readonly #waiting: Waiting[] = [];
  /** Partitions of which a batch is on its way. */
  readonly #busy = new Set<string>();
  readonly #requests = new Set<Promise<void>>();
  #isScheduled = false;

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  /** Resolves when all is acknowledged, to the position of each record. */
  async publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> {
    const batches = toBatches(records);
    const acknowledged = batches.map(
      (batch) =>
        new Promise<readonly LogPosition[]>((resolve, reject) =>
          this.#waiting.push({ batch, resolve, reject }),
        ),
    );
    this.#schedule();
    return inOrderOf(records, batches, await Promise.all(acknowledged));
  }

  /** Settles when nothing is on its way. */
  async idle(): Promise<void> {
    while (this.#requests.size > 0 || this.#waiting.length > 0)
      await Promise.race([...this.#requests, setImmediate()]);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void setImmediate().then(() => {
      this.#isScheduled = false;
      for (let group = this.#take(); group.length > 0; group = this.#take()) this.#start(group);
    });
  }

  /** The first batch of each partition that is free, in the order of the calls. */
  #take(): Waiting[] {
    const taken: Waiting[] = [];
    const skipped = new Set<string>(this.#busy);
    let bytes = 0;
    for (const next of this.#waiting) {
      const name = partitionName(next.batch);
      if (skipped.has(name)) continue;
      skipped.add(name);
      if (taken.length > 0 && bytes + next.batch.bytes > MAX_REQUEST_BYTES) continue;
      bytes += next.batch.bytes;
      taken.push(next);
    }
    return taken;
  }

  #start(group: readonly Waiting[]): void {
    const names = group.map(({ batch }) => partitionName(batch));
    for (const name of names) this.#busy.add(name);
    for (const one of group) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    const work = this.#sendAll(group).finally(() => {
      for (const name of names) this.#busy.delete(name);
      this.#requests.delete(work);
      this.#schedule();
    });
    this.#requests.add(work);
  }

  async #sendAll(group: readonly Waiting[]): Promise<void> {
    if (group.length === 1) return await this.#sendApart(group);
    try {
      const positions = await this.#sending.send(group.map(({ batch }) => batch));
      for (const [index, { resolve }] of group.entries()) resolve(positions[index] ?? []);
    } catch {
      await this.#sendApart(group);
    }
  }

  /** One that cannot be sent fails no other, and is not sent with it again. */
  async #sendApart(group: readonly Waiting[]): Promise<void> {
    const { sendWithRetries } = this.#sending;
    await Promise.all(
      group.map(({ batch, resolve, reject }) => sendWithRetries(batch).then(resolve, reject)),
    );
  }
}

/** The position of each record; of one that was given twice, that of either. */
function inOrderOf(
  records: readonly OutgoingRecord[],
  batches: readonly Batch[],
  positions: readonly (readonly LogPosition[])[],
): readonly LogPosition[] {
  const positionOf = new Map(
    batches.flatMap((batch, at) =>
      batch.records.map((record, index) => [record, positions[at]?.[index]] as const),
    ),
  );
  return records.map((record) => {
    const position = positionOf.get(record);
    if (position === undefined) throw new TypeError('a record was acknowledged without its position');
    return position;
  });
}

interface Retries {
  readonly send: Send;
  /** Of the names of topics on the brokers. */
  readonly prefix: string;
  readonly random: EventLogContext['random'];
  readonly wait: (ms: number) => Promise<unknown>;
  /** Where no leader changes; each of them outlasts a short loss of the connection by itself. */
  readonly tries: number;
}

/**
 * Sends one batch, and again while a leader is missing or the connection was lost. Not with cockatiel: how often depends on what
 * failed last, chance and waiting are given, and its policy would be as long as this loop.
 */
export async function sendWithRetries(
  { send, prefix, random, wait, tries }: Retries,
  batch: Batch,
): Promise<readonly LogPosition[]> {
  for (let failures = 1; ; failures += 1) {
    try {
      const [positions = []] = await send([batch]);
      return positions;
    } catch (error) {
      if (isEnough(error, failures, tries)) throw aboutTopic(error, batch, prefix);
      await wait(backoffMs(RETRY_BACKOFFS.batch, failures - 1, random));
    }
  }
}

/** What is in hand when it fails is of another topic: without its name people look for the wrong one. */
const aboutTopic = (error: unknown, { topic }: Batch, prefix: string): unknown =>
  protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION' ? refusal(missingTopic(topic, { prefix })) : error;

function isEnough(error: unknown, failures: number, tries: number): boolean {
  return failures >= (isBetweenLeaders(error) ? ELECTION_TRIES : tries) || !mayHelp(error);
}

/** Not when the broker looked at the batch, or at who sent it, and said no; nor for a fault of ours. */
const mayHelp = (error: unknown): boolean => toEventLogError([], error).code === 'LOG_UNREACHABLE';
