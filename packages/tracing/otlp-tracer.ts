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
import { AlwaysOnSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { pause } from '../process/backoff.ts';
import { parseTraceparent, type TraceContext, type TraceIds } from '../process/trace.ts';
import type { Span } from '../process/tracer.ts';
import { CountedQueue } from './counted-queue.ts';
import type { OpenTracer, Sampling, TracingChoice, TracingParts } from './port.ts';
import { RemoteShare } from './remote-share.ts';

/** Names and ids that messages carry may be longer. */
const MAX_VALUE_LENGTH = 256;
const MAX_ATTRIBUTES = 32;
/** At the end all that waits leaves at once, and one may be on its way. */
const MAX_EXPORTS_UNDER_WAY = 5;
/** How long the end of the process waits for the collector. */
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
