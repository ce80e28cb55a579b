import type { NodeClock } from '../../../../packages/machine/clock.ts';
import {
  newTrace,
  nextHop,
  parseTraceparent,
  type TraceContext,
} from '../../../../packages/process/trace.ts';
import type { Tracer } from '../../../../packages/process/tracer.ts';
import { sendSpan, subjectAttributes } from '../../../../packages/records/message-spans.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import type { QueuedEvent } from './publish-queue.ts';

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
