import { z } from 'zod';
import { type LogPosition, timeOfPosition } from '../../packages/audit/events/log-position.ts';
import { TOPIC_NAMES, topicSpec } from '../../packages/log/partition.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import type { TimeRange } from '../../packages/records/read-log.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { isOffsetText } from '../../schemas/events/offset-text.ts';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';

/** A time, how long ago, or when a record was written. */
export type PointInTime =
  | { readonly kind: 'at' | 'ago'; readonly ms: number }
  | ({ readonly kind: 'record' } & LogPosition);

/** With its zone, since a time of nobody knows where is a wrong one: `2026-01-31T14:02Z`; or the day alone. */
const IsoTime = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** As places are printed: `gc.node.inventory/3@1042`. */
const POSITION = /^([^/@\s]+)\/(\d{1,5})@(\d+)$/;

const PointInTime = withMeta(
  z.string().transform((text, context): PointInTime => {
    const [, topic, partition, offset] = POSITION.exec(text) ?? [];
    const point =
      topic === undefined || partition === undefined || offset === undefined || !isOffsetText(offset)
        ? timeIn(text)
        : positionIn(topic, Number(partition), BigInt(offset));
    if (typeof point !== 'string') return point;
    context.addIssue({ code: 'custom', message: point });
    return z.NEVER;
  }),
  { commandLineOnly: true, placeholder: 'TIME|POSITION' },
);

/** Or what is wrong with it. */
function timeIn(text: string): PointInTime | string {
  const ago = parseLongDurationMs(text);
  if (ago !== undefined && ago >= 0) return { kind: 'ago', ms: ago };
  const at = IsoTime.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (at >= 0) return { kind: 'at', ms: at };
  return 'must be a time such as 2026-01-31T14:02:00Z or 2026-01-31, how long ago, such as 90m, 24h or 7d, or the position of a record, such as gc.node.inventory/3@1042';
}

/** Or what is wrong with it. */
function positionIn(name: string, partition: number, offset: bigint): PointInTime | string {
  const topic = TOPIC_NAMES.find((each) => each === name);
  if (topic === undefined) return `names the topic ${name}; there are ${TOPIC_NAMES.join(', ')}`;
  const { partitions } = topicSpec(topic);
  if (partition < partitions) return { kind: 'record', topic, partition, offset };
  return `names partition ${partition} of ${topic}, which has ${partitions === 1 ? '0 alone' : `0 to ${partitions - 1}`}`;
}

/** Which part of the log to read, by the log's own clock. */
export const rangeOptionsWith = ({ from }: { readonly from: string }) => ({
  from: withMeta(PointInTime.optional(), {
    description: `Reads from this time on (ISO 8601), from so long ago (2h, 7d), or from when a record was written (gc.node.inventory/3@1042). Default: ${from}.`,
  }),
  to: withMeta(PointInTime.optional(), {
    description: 'Reads what was written before this time, given likewise. Default: up to the end.',
  }),
});

export const rangeOptions = rangeOptionsWith({ from: 'all that is kept' });

/** Another option that takes a time. */
export const pointOption = (description: string) => withMeta(PointInTime.optional(), { description });

/** Where points are looked up. */
export interface PointLookup {
  readonly log: LogReader;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Epoch milliseconds by the log's clock. Throws `NOT_FOUND` for a record that is not on the log. */
export async function pointMs(point: PointInTime, { log, nowMs, signal }: PointLookup): Promise<number> {
  if (point.kind === 'record') return await timeOfPosition(log, point, signal);
  return point.kind === 'at' ? point.ms : Math.max(0, nowMs - point.ms);
}

interface Given {
  readonly from?: PointInTime | undefined;
  readonly to?: PointInTime | undefined;
}

/** Throws `USAGE` where nothing lies between, and `NOT_FOUND`. */
export async function timeRange({ from, to }: Given, lookup: PointLookup): Promise<TimeRange> {
  const fromMs = from === undefined ? null : await pointMs(from, lookup);
  const toMs = to === undefined ? null : await pointMs(to, lookup);
  if (fromMs !== null && toMs !== null && fromMs >= toMs)
    throw new FleetGcError('USAGE', `nothing lies between ${timeText(fromMs)} and ${timeText(toMs)}`);
  return { fromMs, toMs };
}

const DAYS = /^[1-9][0-9]{0,3}d$/;

/** Milliseconds of a duration in Go's form, or of days (`7d`): nobody counts a month in hours. `undefined` for anything else. */
const parseLongDurationMs = (text: string): number | undefined =>
  DAYS.test(text) ? Number(text.slice(0, -1)) * DAY_MS : parseDurationMs(text);

/** A length of time of the past. */
export const LongDuration = withMeta(
  z.string().transform((text, context): number => {
    const ms = parseLongDurationMs(text);
    if (ms !== undefined && ms > 0) return ms;
    context.addIssue({ code: 'custom', message: 'must be a length of time such as 7d, 24h or 90m' });
    return z.NEVER;
  }),
  { placeholder: 'DURATION' },
);
