import type { Output } from '../../../packages/decision/handler.ts';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import type { TraceIds } from '../../../packages/process/trace.ts';
import { toRecord } from '../../../packages/records/publisher.ts';

export const NOW_MS = Date.UTC(2026, 0, 1);
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Trace and span ids that count up. */
export function countedIds(): TraceIds {
  let last = 0;
  const next = (digits: number) => () => (++last).toString(16).padStart(digits, '0');
  return { traceId: next(32), spanId: next(16) };
}

export const outgoing = (output: Output): OutgoingRecord =>
  toRecord(output, { source: '/fleetgc/test', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } });

/** A record as it would come back from the log. */
export const onLog = (record: OutgoingRecord, over: Partial<LogRecord> = {}): LogRecord => ({
  ...record,
  partition: 0,
  offset: 0n,
  timestampMs: NOW_MS,
  ...over,
});

export const recordOf = (output: Output, over: Partial<LogRecord> = {}): LogRecord =>
  onLog(outgoing(output), over);
