import { z } from 'zod';
import { readPoliciesBy } from '../../../packages/policy/stored-policies.ts';
import { approvalsNow } from '../../../packages/read-model/read-holds.ts';
import { policyKey } from '../../../schemas/policy/policy.ts';
import type { PolicyList } from '../../../schemas/reports/policy-list.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../../options/trust-options.ts';
import { inOrderOfPrecedence, listLines, warnOfUnreadable } from '../../views/policies.ts';

export const verb = defineVerb({
  help: [
    'Lists them by precedence: of the policies that select a node, the first is in force. A pause outranks them all. Approvals in force are listed with their end.',
  ],
  examples: [
    'fleetgc policy list',
    'fleetgc policy list --trust-roots roots.yaml',
    'fleetgc policy list --output json',
  ],
  options: z.object({ ...readingTrustOptions, ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const stored = await readPoliciesBy(roots, log, context.signal);
    warnOfUnreadable(stored, context.logger);
    if (stored.policies.size === 0)
      context.logger.info('There are no policies: every node keeps everything.');
    const approvals = approvalsNow(stored.approvals.values(), Date.now());
    const value: PolicyList = {
      type: 'fleetgc.policy-list',
      version: 1,
      pauses: [...stored.pauses.values()],
      policies: [...inOrderOfPrecedence(stored.policies.values())],
      approvals: [...approvals],
      unreadable: [...stored.unreadable],
    };
    await printObjects(context, output, {
      value,
      lines: listLines(stored, approvals, false),
      wideLines: listLines(stored, approvals, true),
      names: value.policies.map(policyKey),
    });
  },
});
