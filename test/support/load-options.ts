import type { z } from 'zod';
import type { OptionsSchema } from '../../packages/process/options/options.ts';
import {
  configError,
  type OptionSources,
  parseOptions,
} from '../../packages/process/options/read-options.ts';

/** The options of a schema; throws `CONFIG_INVALID` as a verb does. */
export function loadOptions<S extends OptionsSchema>(schema: S, sources: OptionSources): z.infer<S> {
  const parsed = parseOptions(schema, sources);
  if (!parsed.ok) throw configError(parsed.problems);
  return parsed.value;
}
