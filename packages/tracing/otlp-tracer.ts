import {
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { pause } from '../process/backoff.ts';
import type { Count, Metrics } from '../process/metrics.ts';
import { parseTraceparent, type TraceContext, type TraceIds } from '../process/trace.ts';
import type { Span } from '../process/tracer.ts';
import type { OpenTracer, Sampling, TracingChoice, TracingParts } from './port.ts';

/** Names and ids that messages carry may be longer. */
const MAX_VALUE_LENGTH = 256;
const MAX_ATTRIBUTES = 32;
/** At the end all that waits leaves at once, and one may be on its way. */
const MAX_EXPORTS_UNDER_WAY = 5;
/** @limit Wait for the collector at the end of a process. */
export const LAST_EXPORT_MS = 2_000;

const KINDS = {
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const satisfies Readonly<Record<Span['kind'], SpanKind>>;

/** What is not given here, such as headers and a certificate, the exporter takes from the variables of OpenTelemetry. */
export function createOtlpTracer({ url, sampling }: TracingChoice, parts: TracingParts): OpenTracer {
  const queue = new CountedQueue(
    new OTLPTraceExporter({ url, concurrencyLimit: MAX_EXPORTS_UNDER_WAY }),
    parts,
  );
  const isSurplus = surplusOf(new RemoteShare(parts.monotonicNow), queue);
  const next = { traceId: '', spanId: '' };
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    resource: defaultResource()
      .merge(resourceFromAttributes(parts.resource))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH, attributeCountLimit: MAX_ATTRIBUTES },
    // A span has the ids that the messages about it carried.
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('fleetgc');
  const { isSampled, isRecorded } = samplingBy(sampling);
  const record = (span: Span): void => {
    const own = parseTraceparent(span.context.traceparent);
    if (own === undefined || !isRecorded(own) || isSurplus(span)) return;
    Object.assign(next, own);
    const of = span.parent === null ? undefined : contextOf(span.parent, own.traceId);
    const options = {
      kind: KINDS[span.kind],
      attributes: { ...(span.kind !== 'internal' && parts.ofMessages), ...span.attributes },
      links: span.links.flatMap(linkTo),
      startTime: timeOf(span.startMs),
    };
    const begun = tracer.startSpan(
      span.name,
      options,
      of ? trace.setSpanContext(ROOT_CONTEXT, of) : ROOT_CONTEXT,
    );
    if (span.failure !== null) {
      begun.setAttribute('error.type', span.failure);
      begun.setStatus({ code: SpanStatusCode.ERROR });
    }
    begun.end(timeOf(Math.max(span.startMs, span.endMs)));
  };
  return {
    ids: { ...idsOf(parts.ids), isSampled },
    record: (span) => {
      // What traces are for must never suffer from them.
      try {
        record(span);
      } catch (error) {
        parts.logger.debug({ err: error }, 'a span is lost');
      }
    },
    [Symbol.asyncDispose]: async () => {
      const enough = new AbortController();
      const ended = provider.shutdown().catch(() => undefined);
      await Promise.race([ended, pause(LAST_EXPORT_MS, enough.signal)]);
      enough.abort();
      queue.giveUp();
    },
  };
}

/** What follows from a message is part of a trace of whoever wrote it. */
const isOfOthers = ({ kind, parent }: Span): boolean => kind === 'consumer' || parent !== null;

/** Whether a span is one too many, which is counted. */
const surplusOf =
  (remote: RemoteShare, queue: CountedQueue) =>
  (span: Span): boolean => {
    const isSurplus = isOfOthers(span) && !remote.take();
    if (isSurplus) queue.dropSurplus();
    return isSurplus;
  };

const idsOf = (ids: TraceIds): TraceIds => ({ traceId: () => ids.traceId(), spanId: () => ids.spanId() });

interface Known {
  readonly traceId: string;
  readonly flags: string;
}

function samplingBy({ ratio, isParentBased }: Sampling) {
  const sampler = new TraceIdRatioBasedSampler(ratio);
  // Of 1 it takes all ids but one in four thousand million.
  const isSampled = (traceId: string): boolean =>
    ratio >= 1 || sampler.shouldSample(ROOT_CONTEXT, traceId).decision !== 0;
  const isRecorded = ({ traceId, flags }: Known): boolean =>
    isParentBased ? (Number.parseInt(flags, 16) & 1) === 1 : isSampled(traceId);
  return { isSampled, isRecorded };
}

/** Another trace than its own is none that a span can be part of. */
function contextOf({ traceparent }: TraceContext, traceId: string): SpanContext | undefined {
  const known = parseTraceparent(traceparent);
  return known?.traceId === traceId
    ? { traceId, spanId: known.spanId, traceFlags: 1, isRemote: true }
    : undefined;
}

function linkTo({ traceparent }: TraceContext): readonly Link[] {
  const known = parseTraceparent(traceparent);
  if (known === undefined) return [];
  const { traceId, spanId, flags } = known;
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true } }];
}

/** Seconds and nanoseconds: of a plain number the library would ask whether it counts since the process began. */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

/**
 * Spans of traces that others began, in a second: whoever may write messages says of them what he likes.
 * @limit Spans per second of traces that others began.
 */
export const MOST_REMOTE_PER_SECOND = 200;
/** So many at once after a time with fewer. */
export const MOST_REMOTE_AT_ONCE = 1_000;

/** What may still be recorded of traces that others began. `now`: milliseconds of a clock that does not jump. */
export class RemoteShare {
  readonly #now: () => number;
  #left = MOST_REMOTE_AT_ONCE;
  #atMs: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#atMs = now();
  }

  /** Whether one more may be recorded. */
  take(): boolean {
    const nowMs = this.#now();
    const grown = ((nowMs - this.#atMs) / 1_000) * MOST_REMOTE_PER_SECOND;
    this.#left = Math.min(MOST_REMOTE_AT_ONCE, this.#left + Math.max(0, grown));
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * Spans that wait at most; a few hundred bytes each.
 * @limit Spans that wait for the collector. More are dropped and counted.
 */
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
