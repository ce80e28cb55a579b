import { z } from 'zod';
import { runDemo } from '../../lab/demo/run-demo.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import { defineVerb } from '../framework/verb.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 600_000;
const LONGEST_PAGE_MS = 86_400_000;

export const verb = defineVerb({
  help: [
    'Two acts: three simulated nodes whose disks fill up, and a small simulated cluster in which somebody deletes things.',
    'Needs neither a container runtime, a cluster nor Kafka. It writes only to a temporary directory of its own, which stays. At the end it says where the event log is and what you can ask it. On a terminal it then serves the page of that log until Ctrl-C.',
  ],
  examples: ['fleetgc demo', 'fleetgc demo --for 30s', 'fleetgc demo --duration 20s --json'],
  options: z.object({
    duration: withMeta(
      DurationMs.refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, {
        error: 'must be from 1s to 10m',
      }).prefault('28s'),
      { placeholder: 'DURATION', description: 'How long to watch the nodes.' },
    ),
    for: withMeta(
      DurationMs.refine((ms) => ms >= 0 && ms <= LONGEST_PAGE_MS, {
        error: 'must be from 0s to 24h',
      }).optional(),
      {
        commandLineOnly: true,
        placeholder: 'DURATION',
        description:
          'How long to serve the page at the end. Default: until Ctrl-C on a terminal, and else 0s.',
      },
    ),
    json: withMeta(Switch.prefault('false'), { description: 'One JSON document a line, for machines.' }),
    plain: withMeta(Switch.prefault('false'), { description: 'Plain lines, also on a terminal.' }),
  }),
  run: runDemo,
});
