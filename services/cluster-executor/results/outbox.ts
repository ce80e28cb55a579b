import type { Logger } from 'pino';
import { backoffMs, type Sleep } from '../../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';

export type ResultEvent = ClusterObjectResults | ClusterCommandResult;

export interface Outgoing {
  readonly event: ResultEvent;
  /** Of the message that led to it; `null` begins one. */
  readonly trace: TraceContext | null;
}

export interface OutboxParts {
  /** Resolves when all of them are acknowledged. */
  readonly publish: (events: readonly Outgoing[]) => Promise<void>;
  readonly sleep: Sleep;
  /** From 0 up to 1, for backoff. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Events of one publish; one of a hundred objects has a tenth of a megabyte. */
const MAX_BATCH = 10;
const PUBLISH_BACKOFF = { firstMs: 200, mostMs: 30_000 };
/** A look without having been woken. */
const LOOK_MS = 60_000;
const LAST_PUBLISH_MS = 2_000;
/** Beyond so many unpublished results no more commands are taken. */
const MAX_UNPUBLISHED = 10_000;

/** Results in the order in which they came, until the event log has them. In memory alone: orders are read again after a restart. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #woken: ReturnType<typeof createWakeSignal>;
  readonly #waiting: Outgoing[] = [];

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#woken = createWakeSignal(parts.sleep);
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(outgoing: Outgoing): void {
    this.#waiting.push(outgoing);
    this.#woken.wake();
  }

  /** Throws `LOG_UNREACHABLE` where so many wait that nothing may be done that brings more. */
  requireRoom(): void {
    if (this.size <= MAX_UNPUBLISHED) return;
    throw new FleetGcError(
      'LOG_UNREACHABLE',
      `${MAX_UNPUBLISHED} results wait to be published, so no more commands are taken; look at why the event log does not take them`,
    );
  }

  /** Publishes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { sleep, random, logger } = this.#parts;
    let failures = 0;
    while (!signal.aborted) {
      const problem = await this.publishNext();
      if (problem === null) failures = 0;
      if (problem === null && this.size === 0) await this.#woken.wait(LOOK_MS, signal);
      if (problem === null) continue;
      if (failures === 0) logger.warn({ problem }, 'results cannot be published, trying again');
      await sleep(backoffMs(PUBLISH_BACKOFF, failures++, random), signal);
    }
  }

  /** A log that does not answer must not keep the process; what it did not take is found out again. */
  async last(running: Promise<void>): Promise<void> {
    const enough = new AbortController();
    const rest = async (): Promise<void> => {
      await running;
      while (this.size > 0 && !enough.signal.aborted) if ((await this.publishNext()) !== null) return;
    };
    await Promise.race([rest(), this.#parts.sleep(LAST_PUBLISH_MS, enough.signal)]);
    enough.abort();
  }

  /** Why it failed; `null` where it did not, or nothing waits. */
  async publishNext(most = MAX_BATCH): Promise<string | null> {
    const batch = this.#waiting.slice(0, most);
    if (batch.length === 0) return null;
    try {
      await this.#parts.publish(batch);
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.code !== 'LOG_RECORD_TOO_LARGE') return error.message;
      if (batch.length > 1) return this.publishNext(1);
      const [given] = batch;
      this.#parts.logger.error(
        { problem: error.message, event: given?.event.id },
        'a result is given up: the event log can never take it',
      );
    }
    this.#waiting.splice(0, batch.length);
    return null;
  }
}
