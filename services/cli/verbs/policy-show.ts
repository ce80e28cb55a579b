import { z } from 'zod';
import { requireStored } from '../../policy/find-stored.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { writtenYaml } from '../../policy/written-form.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Switch, Text, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { timeText } from '../../shared/time-text.ts';
import { defineVerb } from '../../shared/verb.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const policyShow = defineVerb({
  ...about('policy show'),
  options: z.object({
    name: withMeta(Text, { positional: true, placeholder: 'NAME', description: 'Name of the policy.' }),
    asWritten: withMeta(Switch.prefault('false'), {
      description: 'Show the text that was applied, with its comments and without defaults.',
    }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ name, asWritten, output, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const stored = requireStored(await readStoredPolicies(log, context.signal), name);
    const text = asWritten ? stored.source : writtenYaml(stored.policy);
    const lines = [
      `# version ${stored.policyVersion}, applied ${timeText(stored.appliedAtMs)}, hash ${stored.hash}`,
      text.trimEnd(),
    ];
    context.print(formatResult(output, { value: stored, lines }));
  },
});
