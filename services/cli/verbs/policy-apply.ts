import { z } from 'zod';
import { changeLines, changeValues } from '../../policy/change-text.ts';
import { policyChanges } from '../../policy/policy-changes.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { writePolicies } from '../../policy/write-policies.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Switch, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { loadPolicyFiles, policyFileOptions, requireValid } from '../policy-files.ts';
import { openTaskLog, operatorPublication } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const policyApply = defineVerb({
  ...about('policy apply'),
  options: z.object({
    ...policyFileOptions,
    dryRun: withMeta(Switch.prefault('false'), { description: 'Say what would change, and change nothing.' }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ files, dryRun, output, ...log }, context) => {
    const { logger, print, signal } = context;
    const written = requireValid(loadPolicyFiles(files), logger, 'nothing was applied');
    await using eventLog = await openTaskLog({ options: log, context });
    const { policies } = await readStoredPolicies(eventLog, signal);
    const changes = policyChanges(written, policies);
    if (!dryRun) await writePolicies({ log: eventLog, publication: operatorPublication() }, changes);
    print(
      formatResult(output, {
        value: { dryRun, changes: changeValues(changes) },
        lines: changeLines(changes, dryRun),
      }),
    );
    if (dryRun) logger.info('Dry run: nothing was changed.');
  },
});
