import type { Logger } from 'pino';
import { backoffMs, type Sleep } from '../process/backoff.ts';
import { toFleetGcError } from '../process/errors.ts';
import { isTooLarge } from './publisher.ts';

const PUBLISH_BACKOFF = { firstMs: 200, mostMs: 30_000 };
/** @limit Time in which a stopping executor publishes remaining results. */
const LAST_PUBLISH_MS = 2_000;
/** Of a message that is cut because the broker takes no longer one. */
export const SHORT_MESSAGE_LENGTH = 100;

/** A message with no more than a broker takes that takes less than its topic was made for. */
export const shortMessage = (message: string): string =>
  message.slice(0, SHORT_MESSAGE_LENGTH).toWellFormed();

/** Where results wait, in the order in which they came. */
export interface WaitingResults<Result> {
  waiting(): readonly Result[];
  /** Puts these in place of the first `count`: none where the event log acknowledged them. */
  replaceFirst(count: number, by: readonly Result[]): void;
  /** Resolves when some may have been added, or when `signal` aborts. */
  changed(signal: AbortSignal): Promise<void>;
}

interface OutboxDeps<Result> {
  readonly results: WaitingResults<Result>;
  /** Resolves when the event log acknowledged all of them. */
  readonly send: (batch: readonly Result[]) => Promise<void>;
  /** Results of one publish. */
  readonly mostAtOnce: number;
  /** What takes the place of a result that the broker does not take; `null` where nothing can be left out any more. */
  readonly smaller: (result: Result) => readonly Result[] | null;
  readonly sleep: Sleep;
  /** From 0 up to 1, for backoff. */
  readonly random: () => number;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Publishes the results of an executor, and removes them from where they wait only when the event log acknowledged them. None is given up. */
export class Outbox<Result> {
  readonly #deps: OutboxDeps<Result>;
  #problem: string | null = null;

  constructor(deps: OutboxDeps<Result>) {
    this.#deps = deps;
  }

  /** Why the last publish failed; `null` where it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Publishes until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#publish(signal, async () => {
      await this.#deps.results.changed(signal);
      return true;
    });
  }

  /** After `running` has ended, what the log takes within 2 s: a log that does not answer must not keep the process. */
  async last(running: Promise<void>): Promise<void> {
    const enough = new AbortController();
    const rest = async (): Promise<void> => {
      await running;
      await this.#publish(enough.signal, async () => false);
    };
    await Promise.race([rest(), this.#deps.sleep(LAST_PUBLISH_MS, enough.signal)]);
    enough.abort();
  }

  /** `mayCome`: with nothing left, waits for more and says whether to go on. */
  async #publish(signal: AbortSignal, mayCome: () => Promise<boolean>): Promise<void> {
    const { results, sleep, random, logger } = this.#deps;
    let failures = 0;
    while (!signal.aborted) {
      if (results.waiting().length === 0) {
        if (!(await mayCome())) return;
        continue;
      }
      this.#problem = await this.#publishNext(this.#deps.mostAtOnce);
      if (this.#problem === null) {
        failures = 0;
        continue;
      }
      if (failures === 0)
        logger.warn({ problem: this.#problem }, 'results cannot be published, trying again');
      await sleep(backoffMs(PUBLISH_BACKOFF, failures++, random), signal);
    }
  }

  /** Returns why it failed, or `null`. */
  async #publishNext(most: number): Promise<string | null> {
    const { results, send, smaller } = this.#deps;
    const batch = results.waiting().slice(0, most);
    const [first] = batch;
    if (first === undefined) return null;
    try {
      await send(batch);
    } catch (thrown) {
      if (!isTooLarge(thrown)) return toFleetGcError(thrown).message;
      if (batch.length > 1) return this.#publishNext(1);
      const replaced = smaller(first);
      // It waits on, however often the log refuses it.
      if (replaced === null) return thrown.message;
      results.replaceFirst(1, replaced);
      return this.#publishNext(1);
    }
    results.replaceFirst(batch.length, []);
    return null;
  }
}
