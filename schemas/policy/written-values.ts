import { z } from 'zod';
import { DurationMs, parseQuantity } from './quantity.ts';

/** Values as people write them in policies and as kubelets have them in their configuration. */

export const MAX_INT32 = 2 ** 31 - 1;

/** One sentence for what is not there, another for what is wrong. */
export const missingOr =
  (missing: string, wrong: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? missing : wrong;

export const text = (error: string) => z.string({ error }).min(1, { error });

export const list = <Item extends z.ZodType>(item: Item) =>
  z.array(item, { error: 'must be a list, as in [a, b]' });

/** An empty section is a mistake more often than a wish, so it is refused rather than read as its default. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: 'must be a map of settings; leave the key out if there is none' });

/**
 * `z.int()` would end the reading at a fraction, and what is wrong between other settings would not be told (B12);
 * tools still see an integer.
 */
export const wholeNumber = (error: string) =>
  z.number({ error }).refine(Number.isSafeInteger, { error }).meta({ type: 'integer' });

const PERCENT_ERROR = 'must be a whole number from 0 to 100, without a percent sign';

/** B5, B6 */
export const percent = z
  .number({
    error: ({ input }) =>
      typeof input === 'string' && /^\s*[0-9]+\s*$/.test(input)
        ? `must be a whole number from 0 to 100, without quotes: ${input.trim()}`
        : PERCENT_ERROR,
  })
  .refine(Number.isSafeInteger, { error: PERCENT_ERROR })
  .meta({ type: 'integer' })
  .min(0, { error: 'must be at least 0' })
  .max(100, { error: 'must be at most 100' });

/** Of dead containers. */
export const limit = wholeNumber('must be a whole number; a negative one means no limit')
  .min(-MAX_INT32 - 1, { error: 'is too small' })
  .max(MAX_INT32, { error: `must be at most ${MAX_INT32}; a negative number means no limit` });

export const truth = z.boolean({ error: 'must be true or false, without quotes' });

const DURATION_ERROR = 'must be a duration with a unit, such as 90s, 1m30s or 24h';
export const duration = z.string({ error: DURATION_ERROR }).pipe(DurationMs);
export const notNegative = duration.refine((ms) => ms >= 0, { error: 'must not be negative' });

const SIZE_ERROR = 'must be a size above 0, such as 500Mi, 50Gi or 1.5T';
/** Bytes as decimal digits, as they are stored. */
export const size = z.string({ error: SIZE_ERROR }).transform((written, context): string => {
  const bytes = parseQuantity(written);
  if (bytes !== undefined && bytes > 0n) return String(bytes);
  context.addIssue({ code: 'custom', message: SIZE_ERROR, input: written });
  return z.NEVER;
});
