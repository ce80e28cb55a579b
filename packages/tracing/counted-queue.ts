import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { Count, Metrics } from '../process/metrics.ts';

/** Spans that wait at most; a few hundred bytes each. */
export const MAX_WAITING = 2_048;
const MAX_BATCH = 512;
const EXPORT_EVERY_MS = 2_000;
const EXPORT_LIMIT_MS = 15_000;
const OUTCOMES = { outcome: ['exported', 'queue-full', 'export-failed', 'remote-surplus'] } as const;

interface CountedQueueParts {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** The library's queue, which tells nobody of what it drops: here each span is counted once, with what became of it. */
export class CountedQueue implements SpanProcessor {
  readonly #spans: Count<typeof OUTCOMES>;
  readonly #logger: Logger;
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;
  #underWay = 0;
  #isFailing = false;
  #isGivenUp = false;

  constructor(exporter: SpanExporter, { metrics, logger }: CountedQueueParts) {
    this.#spans = metrics.count('trace_spans_total', 'Spans, by what became of them.', OUTCOMES);
    this.#logger = logger;
    this.#batches = new BatchSpanProcessor({
      exporter: this.#counting(exporter),
      maxQueueSize: MAX_WAITING,
      maxExportBatchSize: MAX_BATCH,
      scheduledDelayMillis: EXPORT_EVERY_MS,
      exportTimeoutMillis: EXPORT_LIMIT_MS,
    });
  }

  onStart(): void {
    // A span is over when it comes here.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= MAX_WAITING) {
      this.#spans.add({ outcome: 'queue-full' });
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  /** Counts a span of a trace that others began, of which there are too many. */
  dropSurplus(): void {
    this.#spans.add({ outcome: 'remote-surplus' });
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  /** Counts what nobody waits for any more as lost. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#spans.add({ outcome: 'export-failed' }, this.#waiting + this.#underWay);
  }

  #counting(exporter: SpanExporter): SpanExporter {
    return {
      export: (batch, done) => {
        this.#waiting -= batch.length;
        this.#underWay += batch.length;
        exporter.export(batch, (result) => {
          this.#exported(batch.length, result.code === 0 ? null : (result.error?.message ?? 'no reason'));
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  #exported(count: number, problem: string | null): void {
    if (this.#isGivenUp) return;
    this.#underWay -= count;
    this.#spans.add({ outcome: problem === null ? 'exported' : 'export-failed' }, count);
    const isFailing = problem !== null;
    if (isFailing && !this.#isFailing)
      this.#logger.warn({ problem }, 'traces cannot be exported; only they suffer from it');
    if (!isFailing && this.#isFailing) this.#logger.info('traces are exported again');
    this.#isFailing = isFailing;
  }
}
