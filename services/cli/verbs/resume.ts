import { z } from 'zod';
import { pausesToEnd, pauseText } from '../../policy/pauses.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { deleteKeys } from '../../policy/write-policies.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Switch, withMeta } from '../../shared/option-types.ts';
import { defineVerb } from '../../shared/verb.ts';
import { pauseSelectorOptions, toPauseSelector } from '../pause-options.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const resume = defineVerb({
  ...about('resume'),
  options: z.object({
    ...pauseSelectorOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'End every pause.',
    }),
    ...logOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, all, ...options }, context) => {
    if (all && (cluster ?? nodeName ?? pool) !== undefined)
      throw new FleetGcError('USAGE', '--all ends every pause; leave --cluster, --node-name and --pool out');
    await using log = await openTaskLog({ options, context });
    const stored = await readStoredPolicies(log, context.signal);
    const selector = toPauseSelector({ cluster, nodeName, pool });
    const pauses = pausesToEnd(stored, all ? { kind: 'all' } : { kind: 'one', selector });
    await deleteKeys({ log }, [...pauses.keys()]);
    for (const pause of pauses) context.print(`resumed: ${pauseText(pause)}`);
    if (pauses.size === 0) context.logger.info('Nothing is paused.');
  },
});
