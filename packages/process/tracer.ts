import type { TraceContext, TraceIds } from './trace.ts';

/** Of few names each, with values of a bounded length. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A piece of work that is over. */
export interface Span {
  readonly name: string;
  readonly kind: 'internal' | 'producer' | 'consumer';
  /** Its own ids. */
  readonly context: TraceContext;
  /** Of what it follows from, where a span of that can have been recorded. */
  readonly parent: TraceContext | null;
  /** What it follows from besides. */
  readonly links: readonly TraceContext[];
  /** Epoch milliseconds, and parts of them. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** What failed, as one of few words; `null` where nothing did. */
  readonly failure: string | null;
}

/**
 * Where spans go. It is `null` where nobody asked for them: then none are made, and asking costs a comparison. Ids of spans are
 * those that messages carry anyway, so that work is recorded when it is over, and only where it led to something.
 */
export interface Tracer {
  /** Those of the process, with which traces begin as the sampler says. */
  readonly ids: TraceIds;
  /** Takes a span, or drops it where too many wait. Never waits and never throws. */
  record(span: Span): void;
}
