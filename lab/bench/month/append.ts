import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { Output } from '../../../packages/decision/handler.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { newTrace, nextHop, type TraceIds } from '../../../packages/process/trace.ts';
import { toRecord } from '../../../packages/records/publisher.ts';

/** Something to append. */
export interface Publishing {
  readonly output: Output;
  readonly source: string;
  /** By the log's clock; never before what lies there already. */
  readonly atMs: number;
  /** What it follows from; `null` for a beginning. */
  readonly cause: LogRecord | null;
}

/** Gives each record the place that a log would give it. */
export type Appending = (publishing: Publishing) => LogRecord;

/** An empty log. `name` tells its traces from those of others. */
export function createAppending(name: string): Appending {
  const ends = new Map<string, bigint>();
  const ids = countedIds(name);
  let lastMs = 0;
  return ({ output, source, atMs, cause }) => {
    lastMs = Math.max(lastMs, atMs);
    const trace = cause === null ? newTrace(ids) : nextHop(cause.headers, ids);
    const outgoing = toRecord(output, { source, nowMs: lastMs, trace });
    const partition = partitionOf(outgoing.topic, outgoing.key);
    const end = `${outgoing.topic}/${partition}`;
    const offset = ends.get(end) ?? 0n;
    ends.set(end, offset + 1n);
    return { ...outgoing, partition, offset, timestampMs: lastMs };
  };
}

/** As random ones they do not compress. */
function countedIds(name: string): TraceIds {
  let given = 0;
  const next = (): string => {
    given += 1;
    return sha256Hex(`${name} ${given}`);
  };
  return { traceId: () => next().slice(0, 32), spanId: () => next().slice(0, 16) };
}
