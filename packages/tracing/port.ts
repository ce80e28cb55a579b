import type { Logger } from 'pino';
import type { Metrics } from '../process/metrics.ts';
import type { TraceIds } from '../process/trace.ts';
import type { SpanAttributes, Tracer } from '../process/tracer.ts';

/** Which traces that begin here are recorded. */
export interface Sampling {
  /** Of each trace that begins: all, none, or a share from 0 to 1 by its id. */
  readonly ratio: number;
  /** Whether a trace that others began is recorded where they say so; else its id alone decides. */
  readonly isParentBased: boolean;
}

/** Where traces go. */
export interface TracingChoice {
  /** Of OTLP over HTTP, with its path. */
  readonly url: string;
  readonly sampling: Sampling;
}

export interface TracingParts {
  readonly ids: TraceIds;
  /** What the process is. */
  readonly resource: SpanAttributes;
  /** What holds for each span about a message. */
  readonly ofMessages: SpanAttributes;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/** A tracer that sends what it is given. Disposing sends the rest, within a bound. */
export interface OpenTracer extends Tracer, AsyncDisposable {}
