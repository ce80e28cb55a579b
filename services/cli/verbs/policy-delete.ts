import { z } from 'zod';
import { requireKeys } from '../../policy/find-stored.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { deleteKeys } from '../../policy/write-policies.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { withMeta } from '../../shared/option-types.ts';
import { defineVerb } from '../../shared/verb.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const policyDelete = defineVerb({
  ...about('policy delete'),
  options: z.object({
    names: withMeta(z.array(z.string()), {
      kind: 'list',
      positional: true,
      placeholder: 'NAME',
      description: 'Names of the policies.',
    }),
    ...logOptions('kafka'),
  }),
  run: async ({ names, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const stored = await readStoredPolicies(log, context.signal);
    const keys = requireKeys(stored, names);
    await deleteKeys({ log }, keys);
    for (const key of keys) context.print(`${key}: deleted`);
    context.logger.info(
      `On its nodes the next policy that selects them holds now. Without any, they keep everything. Applied again, ${keys.length === 1 ? 'it' : 'each'} begins with version 1.`,
    );
  },
});
