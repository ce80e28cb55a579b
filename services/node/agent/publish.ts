import type { Logger } from 'pino';
import type { Output } from '../../../packages/decision/handler.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { backoffMs, type Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import { newTrace, nextHop, parseTraceparent, type TraceContext } from '../../../packages/process/trace.ts';
import type { Tracer } from '../../../packages/process/tracer.ts';
import { sendSpan, subjectAttributes } from '../../../packages/records/message-spans.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';

/** An event on its way to the log. */
export interface QueuedEvent {
  readonly output: Output;
  /** Of the order it answers; without one it begins a trace. */
  readonly trace?: TraceContext;
  /** Called when it is acknowledged, which it need never be. */
  readonly onPublished?: () => void;
}

/** Events of one kind on their way to the log, in order. However long the log is away, no more than `limit` wait. */
export interface PublishQueue {
  /** Beyond the limit the oldest goes. */
  put(outgoing: QueuedEvent): void;
  /** Publishes until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Why the last attempt failed; `null` when it did not. */
  problem(): string | null;
}

interface PublishQueueParts {
  /** What is in it, for the log lines. */
  readonly what: string;
  readonly limit: number;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly sleep: Sleep;
  /** 0 <= number < 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Called for each event that will not be published. */
  readonly onDropped: () => void;
}

const PUBLISH_BACKOFF = { firstMs: 1_000, mostMs: 30_000 };

export function createPublishQueue({
  what,
  limit,
  publisher,
  sleep,
  random,
  logger,
  onDropped,
}: PublishQueueParts): PublishQueue {
  const wakeSignal = createWakeSignal(sleep);
  let waiting: readonly QueuedEvent[] = [];
  let problem: string | null = null;
  let failures = 0;

  const keepWaiting = (all: readonly QueuedEvent[]): void => {
    waiting = all.slice(-limit);
    for (let dropped = waiting.length; dropped < all.length; dropped++) onDropped();
  };

  const published = (outgoing: QueuedEvent): void => {
    if (problem !== null) logger.info(`${what}: published again`);
    [problem, failures] = [null, 0];
    outgoing.onPublished?.();
  };

  const failed = (outgoing: QueuedEvent, thrown: unknown): void => {
    const { message, retry } = toFleetGcError(thrown);
    if (!retry) logger.error({ problem: message }, `${what}: cannot be published, and is lost`);
    else if (problem === null)
      logger.warn({ problem: message }, `${what}: cannot be published, trying again`);
    [problem, failures] = [message, failures + 1];
    if (retry) keepWaiting([outgoing, ...waiting]);
    else onDropped();
  };

  const publishNext = async (): Promise<void> => {
    const [next, ...rest] = waiting;
    if (next === undefined) return;
    waiting = rest;
    await publisher.publish([next.output], next.trace).then(
      () => published(next),
      (thrown: unknown) => failed(next, thrown),
    );
  };

  return {
    put: (outgoing) => {
      keepWaiting([...waiting, outgoing]);
      wakeSignal.wake();
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await publishNext();
        if (failures > 0) await sleep(backoffMs(PUBLISH_BACKOFF, failures - 1, random), signal);
        else if (waiting.length === 0) await wakeSignal.wait(Number.POSITIVE_INFINITY, signal);
      }
    },
    problem: () => problem,
  };
}

/** An order follows within seconds from the sample that calls for it. */
const REMEMBERED_SAMPLES = 64;

interface Sample {
  readonly event: DiskStats;
  readonly context: TraceContext;
  /** `null` until the log has it. */
  publishedAtMs: number | null;
}

type Tracing = Required<Pick<QueuedEvent, 'trace' | 'onPublished'>>;

/**
 * Spans of what an agent publishes. Of a sample one is made when an order follows from it and not before: only then a threshold was
 * met, and nearly all samples meet none.
 */
export class FactSpans {
  readonly #tracer: Tracer;
  readonly #clock: NodeClock;
  #samples: readonly Sample[] = [];

  constructor(tracer: Tracer, clock: NodeClock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  /** A sample on its way to the log. */
  sample(event: DiskStats): Tracing {
    const sample: Sample = { event, context: newTrace(this.#tracer.ids), publishedAtMs: null };
    this.#samples = [...this.#samples, sample].slice(-REMEMBERED_SAMPLES);
    return {
      trace: sample.context,
      onPublished: () => {
        sample.publishedAtMs = this.#nowMs();
      },
    };
  }

  /** An order came; whoever names a trace that none of our samples began is told nothing of. */
  ordered(trace: TraceContext): void {
    const sample = this.#samples.find(({ context }) => traceIdOf(context) === traceIdOf(trace));
    if (sample === undefined) return;
    this.#samples = this.#samples.filter((other) => other !== sample);
    const { event, context, publishedAtMs } = sample;
    const startMs = event.takenAt.wallTimeMs;
    const endMs = publishedAtMs ?? this.#nowMs();
    this.#tracer.record(sendSpan({ topic: 'diskStats', event, context, parent: null, startMs, endMs }));
  }

  /** An inventory that answers an order, and is about to go to the log. */
  answer(event: Inventory, order: TraceContext): Tracing {
    const taken = nextHop(order, this.#tracer.ids);
    const context = nextHop(taken, this.#tracer.ids);
    const startMs = this.#nowMs();
    this.#tracer.record({
      name: 'take inventory',
      kind: 'internal',
      context: taken,
      parent: order,
      links: [],
      startMs: event.takenAt.wallTimeMs,
      endMs: startMs,
      attributes: { ...subjectAttributes(event), 'fleetgc.inventory.status': event.status },
      failure: null,
    });
    const sent = { topic: 'inventory', event, context, parent: taken, startMs } as const;
    return {
      trace: context,
      onPublished: () => this.#tracer.record(sendSpan({ ...sent, endMs: this.#nowMs() })),
    };
  }

  #nowMs(): number {
    return this.#clock.now().wallTimeMs;
  }
}

const traceIdOf = ({ traceparent }: TraceContext): string | undefined =>
  parseTraceparent(traceparent)?.traceId;
