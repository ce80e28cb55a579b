import { z } from 'zod';
import { pauseTakesHold } from '../../packages/policy/pauses.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import { writePause } from '../../packages/policy/write-policies.ts';
import { warnUnlessSelected } from '../../packages/read-model/policy-doubts.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { doing, doingOptions } from '../options/doing-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { pauseSelectorOptions, resumeOnEventLog, toPauseSelector } from '../options/steering-options.ts';
import { readOperatorTrust, writingOptions } from '../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'Without options it pauses the whole fleet. Decisions are still made and recorded. A node refuses earlier commands as soon as it has read the pause, and in any case once they expire.',
  ],
  examples: [
    'fleetgc pause --reason "registry is down"',
    'fleetgc pause --cluster prod --node-name "db-*"',
    'fleetgc pause --pool gpu',
  ],
  options: z.object({
    ...pauseSelectorOptions,
    ...doingOptions,
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, nodeName, pool, reason, by, ...options }, context) => {
    const selector = toPauseSelector({ cluster, nodeName, pool });
    const trust = await readOperatorTrust(options, context.signal);
    await using log = await openTaskEventLog({ options, context });
    await writePause(
      await openPolicyWriter(log, trust, context, options),
      selector,
      doing({ by, reason }, context),
    );
    context.print(`paused: ${selectorText(selector)}`);
    const stored = await readStoredPolicies(log, context.signal);
    context.logger.info(
      `${pauseTakesHold(stored)} fleetgc status says how many nodes it is for. This undoes it: ${resumeOnEventLog(selector, options)}`,
    );
    await warnUnlessSelected(selector, { log, logger: context.logger }, context.signal);
  },
});
