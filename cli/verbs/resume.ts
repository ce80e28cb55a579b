import { z } from 'zod';
import { pausesToEnd, pauseText } from '../../packages/policy/pauses.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import { deleteKeys } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import { warnOfNobody } from '../../services/fleet-status/heard-selected.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { pauseSelectorOptions, toPauseSelector } from '../options/pause-options.ts';

export const verb = defineVerb({
  help: ['Ends the pause that was begun with the same options.'],
  examples: ['fleetgc resume', 'fleetgc resume --cluster prod --node-name "db-*"', 'fleetgc resume --all'],
  options: z.object({
    ...pauseSelectorOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'End every pause.',
    }),
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, all, ...options }, context) => {
    if (all && (cluster ?? nodeName ?? pool) !== undefined)
      throw new FleetGcError('USAGE', '--all ends every pause; leave --cluster, --node-name and --pool out');
    await using log = await openTaskEventLog({ options, context });
    const stored = await readStoredPolicies(log, context.signal);
    const selector = toPauseSelector({ cluster, nodeName, pool });
    const pauses = pausesToEnd(stored, all ? { kind: 'all' } : { kind: 'one', selector });
    await deleteKeys({ log }, [...pauses.keys()]);
    for (const pause of pauses) context.print(`resumed: ${pauseText(pause)}`);
    if (pauses.size === 0) context.logger.info('Nothing is paused.');
    if (!all) await warnOfNobody(selector, { log, logger: context.logger }, context.signal);
  },
});
