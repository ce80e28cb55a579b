/** W3C trace context as headers carry it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Where new ids come from: random in production, counted in tests. Lower-case hexadecimal, not all zero. */
export interface TraceIds {
  /** 32 digits. */
  traceId(): string;
  /** 16 digits. */
  spanId(): string;
  /** Whether a trace that begins is to be recorded; where it is not given all are. */
  isSampled?(traceId: string): boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer ones are none by any version that is known; who writes messages may write anything here. */
const MAX_TRACEPARENT_LENGTH = 128;
const SAMPLED = '01';
const NOT_SAMPLED = '00';
/** Of the flags, version 00 knows these two: that it is recorded, and that its id is random. */
const KNOWN_FLAGS = 0x03;
/** More than this nobody has to pass on, by the W3C's rules. */
const MAX_TRACESTATE_LENGTH = 512;

/** The headers of a message that carry it. */
interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** The context for what follows from a message: its trace with a span of our own, or a new trace when it has none. */
export function nextHop(headers: TraceHeaders, ids: TraceIds): TraceContext {
  const parent = parseTraceparent(headers.traceparent);
  if (!parent) return newTrace(ids);
  const { tracestate } = headers;
  return {
    traceparent: `00-${parent.traceId}-${ids.spanId()}-${knownFlags(parent.flags)}`,
    ...(tracestate !== undefined && tracestate.length <= MAX_TRACESTATE_LENGTH && { tracestate }),
  };
}

const knownFlags = (flags: string): string =>
  (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0');

export function newTrace(ids: TraceIds): TraceContext {
  const traceId = ids.traceId();
  const flags = ids.isSampled?.(traceId) === false ? NOT_SAMPLED : SAMPLED;
  return { traceparent: `00-${traceId}-${ids.spanId()}-${flags}` };
}

/** `undefined` for what is none by the W3C's rules: such a context is not passed on, and is no reason to refuse. */
export function parseTraceparent(
  text: string | undefined,
): { readonly traceId: string; readonly spanId: string; readonly flags: string } | undefined {
  if (text === undefined || text.length > MAX_TRACEPARENT_LENGTH) return undefined;
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags };
}
