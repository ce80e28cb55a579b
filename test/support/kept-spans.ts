import type { TraceIds } from '../../packages/process/trace.ts';
import type { Span, Tracer } from '../../packages/process/tracer.ts';
import { countedIds } from './logs/log-record.ts';

/** A tracer that keeps what it is given. */
export function keptSpans(ids: TraceIds = countedIds()): Tracer & { readonly spans: Span[] } {
  const spans: Span[] = [];
  return { ids, spans, record: (span) => void spans.push(span) };
}
