import { z } from 'zod';
import { withMeta } from '../../../packages/process/options/options.ts';
import { parseDurationMs } from '../../../schemas/policy/quantity.ts';

export const DAY_MS = 24 * 60 * 60 * 1000;

const DAYS = /^[1-9][0-9]{0,3}d$/;

/** Milliseconds of a duration in Go's form, or of days (`7d`): nobody counts a month in hours. `undefined` for anything else. */
export const parseLongDurationMs = (text: string): number | undefined =>
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
