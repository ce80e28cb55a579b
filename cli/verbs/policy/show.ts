import { z } from 'zod';
import { writtenClusterYaml, writtenYaml } from '../../../packages/policy/file/written-form.ts';
import {
  readPoliciesBy,
  requireStored,
  type StoredApproval,
} from '../../../packages/policy/stored-policies.ts';
import { Switch, Text, withMeta } from '../../../packages/process/options/options.ts';
import { approvalsNow } from '../../../packages/read-model/read-holds.ts';
import { linesText } from '../../../packages/text/lines-text.ts';
import { printable } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { isPolicyFor, type PolicyRecordOf, policyKey } from '../../../schemas/policy/policy.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../../options/trust-options.ts';
import { approvalLine } from '../../views/held.ts';
import { warnOfUnreadable } from '../../views/policies.ts';

const yamlOf = (record: PolicyRecordOf<SubjectKind>): string =>
  isPolicyFor('cluster', record) ? writtenClusterYaml(record.policy) : writtenYaml(record.policy);

/** Whether another policy goes before this one in a cluster is not looked at. */
const approvalsUnder = (
  record: PolicyRecordOf<SubjectKind>,
  approvals: Iterable<StoredApproval>,
): readonly StoredApproval[] => {
  if (!isPolicyFor('cluster', record)) return [];
  const { clusters } = record.policy.selector;
  return approvalsNow(approvals, Date.now()).filter(
    ({ cluster }) => clusters.length === 0 || clusters.includes(cluster),
  );
};

export const verb = defineVerb({
  help: [
    'Prints a policy file, which you can edit and apply. Of a policy for clusters it also tells the approvals that are in force where it may hold.',
  ],
  examples: [
    'fleetgc policy show web',
    'fleetgc policy show web --as-written',
    'fleetgc policy show cluster/web',
  ],
  options: z.object({
    name: withMeta(Text, {
      positional: true,
      placeholder: 'NAME',
      description: 'Name of the policy; cluster/NAME for one for clusters.',
    }),
    asWritten: withMeta(Switch.prefault('false'), {
      description: 'Show the text that was applied, with its comments and without defaults.',
    }),
    ...readingTrustOptions,
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ name, asWritten, trustRoots, output, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const all = await readPoliciesBy(roots, log, context.signal);
    const stored = requireStored(all, name);
    warnOfUnreadable(all, context.logger);
    const approvals = approvalsUnder(stored, all.approvals.values());
    const text = asWritten ? stored.source : yamlOf(stored);
    const remarks = [
      `# version ${stored.policyVersion}, applied ${timeText(stored.appliedAtMs)}, hash ${stored.hash}`,
      ...approvals.map((approval) => `# ${approvalLine(approval)}`),
    ];
    // A file to apply again: its lines and tabs are what its author wrote.
    if (output === 'table' || output === 'wide')
      return await context.write(`${linesText(remarks)}${printable(text.trimEnd())}\n`);
    await printObjects(context, output, {
      value: { ...stored, ...(isPolicyFor('cluster', stored) && { approvals }) },
      lines: remarks,
      names: [policyKey(stored)],
    });
  },
});
