import { z } from 'zod';
import { PauseRecord } from '../../../schemas/policy.ts';
import { longestCommandLifetimeMs } from '../../policy/pauses.ts';
import { selectorText } from '../../policy/selector-text.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { durationText } from '../../policy/value-text.ts';
import { writePause } from '../../policy/write-policies.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { withMeta } from '../../shared/option-types.ts';
import { defineVerb } from '../../shared/verb.ts';
import { pauseSelectorOptions, resumeCommand, toPauseSelector } from '../pause-options.ts';
import { openTaskLog, operatorPublication } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const pause = defineVerb({
  ...about('pause'),
  options: z.object({
    ...pauseSelectorOptions,
    reason: withMeta(PauseRecord.shape.reason.prefault(''), {
      commandLineOnly: true,
      placeholder: 'TEXT',
      description: 'Why, for whoever looks at the list of policies.',
    }),
    ...logOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, reason, ...options }, context) => {
    const selector = toPauseSelector({ cluster, nodeName, pool });
    await using log = await openTaskLog({ options, context });
    await writePause({ log, publication: operatorPublication() }, selector, reason);
    context.print(`paused: ${selectorText(selector)}`);
    const lifetimeMs = longestCommandLifetimeMs(await readStoredPolicies(log, context.signal));
    context.logger.info(
      lifetimeMs === 0
        ? `No policy says "mode: enforce", so nothing was being removed. fleetgc status says how many nodes it is for. This undoes it: ${resumeCommand(selector, options)}`
        : `Nodes stop as soon as they read this, and within ${durationText(lifetimeMs)} at the latest; a removal that has begun ends; fleetgc status says how many nodes it is for. This undoes it: ${resumeCommand(selector, options)}`,
    );
  },
});
