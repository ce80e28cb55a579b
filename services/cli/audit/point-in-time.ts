import { z } from 'zod';
import { parseDurationMs } from '../../../schemas/quantity.ts';
import type { TimeRange } from '../../audit/read-log.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { withMeta } from '../../shared/option-types.ts';
import { timeText } from '../../shared/time-text.ts';

/** A time, or how long ago. */
export type PointInTime = { readonly kind: 'at' | 'ago'; readonly ms: number };

/** With its zone, since a time of nobody knows where is a wrong one: `2026-01-31T14:02Z`; or the day alone. */
const IsoTime = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

const PointInTime = withMeta(
  z.string().transform((text, context): PointInTime => {
    const ago = parseDurationMs(text);
    if (ago !== undefined && ago >= 0) return { kind: 'ago', ms: ago };
    const at = IsoTime.safeParse(text).success ? Date.parse(text) : Number.NaN;
    if (at >= 0) return { kind: 'at', ms: at };
    context.addIssue({
      code: 'custom',
      message:
        'must be a time such as 2026-01-31T14:02:00Z or 2026-01-31, or how long ago, such as 90m or 24h',
    });
    return z.NEVER;
  }),
  { commandLineOnly: true, placeholder: 'TIME' },
);

/** Which part of the log to read, by the log's own clock. */
export const rangeOptions = {
  from: withMeta(PointInTime.optional(), {
    description:
      'Reads from this time on (ISO 8601), or from so long ago, e.g. 2h. Default: all that is kept.',
  }),
  to: withMeta(PointInTime.optional(), {
    description: 'Reads up to this time, or to so long ago. Default: the end.',
  }),
};

/** Another option that takes a time. */
export const pointOption = (description: string) => withMeta(PointInTime.optional(), { description });

export const pointMs = ({ kind, ms }: PointInTime, nowMs: number): number =>
  kind === 'at' ? ms : Math.max(0, nowMs - ms);

interface Given {
  readonly from?: PointInTime | undefined;
  readonly to?: PointInTime | undefined;
}

/** Throws `USAGE` where nothing lies between. */
export function timeRange({ from, to }: Given, nowMs: number): TimeRange {
  const fromMs = from === undefined ? null : pointMs(from, nowMs);
  const toMs = to === undefined ? null : pointMs(to, nowMs);
  if (fromMs !== null && toMs !== null && fromMs >= toMs)
    throw new FleetGcError('USAGE', `nothing lies between ${timeText(fromMs)} and ${timeText(toMs)}`);
  return { fromMs, toMs };
}
