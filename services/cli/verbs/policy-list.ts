import { z } from 'zod';
import { inOrderOfPrecedence, listLines } from '../../policy/policy-list.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { warnOfUnreadable } from '../policy-warnings.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const policyList = defineVerb({
  ...about('policy list'),
  options: z.object({ ...outputOptions, ...logOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const stored = await readStoredPolicies(log, context.signal);
    warnOfUnreadable(stored, context.logger);
    if (stored.policies.size === 0)
      context.logger.info('There are no policies: every node keeps everything.');
    const value = {
      pauses: [...stored.pauses.values()],
      policies: inOrderOfPrecedence(stored.policies.values()),
      unreadable: stored.unreadable,
    };
    const lines = listLines(stored);
    if (output !== 'table' || lines.length > 0) context.print(formatResult(output, { value, lines }));
  },
});
