import { parseArgs } from 'node:util';
import { z } from 'zod';
import { TARGETS } from './targets/targets.ts';

const WholeNumber = z
  .string()
  .regex(/^[0-9]{1,9}$/, { error: 'must be a whole number' })
  .transform(Number);

const Options = z.object({
  /** Without any: all targets. */
  only: z
    .array(
      z
        .string()
        .refine((name) => TARGETS.has(name), { error: `must be one of ${[...TARGETS.keys()].join(', ')}` }),
    )
    .default([]),
  runs: WholeNumber.default(20_000),
  /** A target that takes longer ends earlier. */
  'for-seconds': WholeNumber.default(3_600),
  seed: WholeNumber.default(1),
  json: z.boolean().default(false),
  /** Writes down the inputs that reached something new. */
  keep: z.boolean().default(false),
  /** For a process with a bug in it: the first finding is enough. */
  first: z.boolean().default(false),
  /** Begins with the inputs of the target alone. */
  'no-corpus': z.boolean().default(false),
  planted: z.boolean().default(false),
  /** A file with a line for each run; it goes on where it ended. */
  results: z.string().optional(),
  /** As many inputs for each target as the file of results is to have at the end. */
  total: WholeNumber.optional(),
  /** Prints what the file of results adds up to, and runs nothing. */
  table: z.boolean().default(false),
});
export type Options = z.infer<typeof Options>;

const Consistent = Options.refine(
  ({ results, total, table }) => results !== undefined || (total === undefined && !table),
  { error: '--total and --table need --results' },
);

/** `null` for wrong ones, after saying so. */
export function optionsIn(args: readonly string[], say: (line: string) => void): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        runs: { type: 'string' },
        'for-seconds': { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean' },
        keep: { type: 'boolean' },
        first: { type: 'boolean' },
        'no-corpus': { type: 'boolean' },
        planted: { type: 'boolean' },
        results: { type: 'string' },
        total: { type: 'string' },
        table: { type: 'boolean' },
      },
    });
    const { data, error } = Consistent.safeParse(values);
    if (data !== undefined) return data;
    say(z.prettifyError(error));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
  return null;
}
