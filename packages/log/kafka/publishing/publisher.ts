import { setImmediate } from 'node:timers/promises';
import { backoffMs } from '../../../process/backoff.ts';
import { partitionName } from '../../partition.ts';
import type { EventLogContext, OutgoingRecord } from '../../port.ts';
import { RETRY_BACKOFFS } from '../../retry-backoffs.ts';
import { missingTopic, refusal } from '../../topic-differences.ts';
import { isBetweenLeaders, protocolType, toEventLogError } from '../client/errors.ts';
import { type Batch, toBatches } from './batches.ts';

/** What one request carries at most, before compression; a single larger batch goes all the same. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
/** About fifteen seconds: another broker takes over in less. */
const ELECTION_TRIES = 20;

/** Sends batches of different partitions in one request, once; resolves when all is acknowledged. */
export type Send = (batches: readonly Batch[]) => Promise<void>;

export interface Sending {
  readonly send: Send;
  /** Sends one batch, again and again while that may help. */
  readonly sendWithRetries: (batch: Batch) => Promise<void>;
}

interface Waiting {
  readonly batch: Batch;
  readonly resolve: () => void;
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

  /** Resolves when all is acknowledged. */
  async publish(records: readonly OutgoingRecord[]): Promise<void> {
    const acknowledged = toBatches(records).map(
      (batch) => new Promise<void>((resolve, reject) => this.#waiting.push({ batch, resolve, reject })),
    );
    this.#schedule();
    await Promise.all(acknowledged);
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
      await this.#sending.send(group.map(({ batch }) => batch));
      for (const { resolve } of group) resolve();
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

export interface Retries {
  readonly send: Send;
  readonly random: EventLogContext['random'];
  readonly wait: (ms: number) => Promise<unknown>;
  /** Where no leader changes; each of them outlasts a short loss of the connection by itself. */
  readonly tries: number;
}

/**
 * Sends one batch, and again while a leader is missing or the connection was lost. Not with cockatiel: how often depends on what
 * failed last, chance and waiting are given, and its policy would be as long as this loop.
 */
export async function sendWithRetries({ send, random, wait, tries }: Retries, batch: Batch): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await send([batch]);
    } catch (error) {
      if (isEnough(error, failures, tries)) throw aboutTopic(error, batch);
      await wait(backoffMs(RETRY_BACKOFFS.batch, failures - 1, random));
    }
  }
}

/** What is in hand when it fails is of another topic: without its name people look for the wrong one. */
const aboutTopic = (error: unknown, { topic }: Batch): unknown =>
  protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION' ? refusal(missingTopic(topic)) : error;

function isEnough(error: unknown, failures: number, tries: number): boolean {
  return failures >= (isBetweenLeaders(error) ? ELECTION_TRIES : tries) || !mayHelp(error);
}

/** Not when the broker looked at the batch, or at who sent it, and said no; nor for a fault of ours. */
const mayHelp = (error: unknown): boolean => toEventLogError([], error).code === 'LOG_UNREACHABLE';
