import { z } from 'zod';
import { Switch, withMeta } from '../../packages/process/options/option-types.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import { runDemo } from '../demo/run-demo.ts';
import { defineVerb } from '../framework/verb.ts';
import { about } from '../framework/verb-list.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 600_000;

export const demo = defineVerb({
  ...about('demo'),
  options: z.object({
    duration: withMeta(
      DurationMs.refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, {
        error: 'must be from 1s to 10m',
      }).prefault('28s'),
      { placeholder: 'DURATION', description: 'How long to watch.' },
    ),
    json: withMeta(Switch.prefault('false'), { description: 'One JSON document a line, for machines.' }),
    plain: withMeta(Switch.prefault('false'), { description: 'Plain lines, also on a terminal.' }),
  }),
  run: runDemo,
});
