import { z } from 'zod';
import { deletionOf, readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { deleteKeys, deleteUnheld } from '../../../packages/policy/write-policies.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import { openPolicyWriter } from '../../framework/policy-writer.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readOperatorTrust, writingOptions } from '../../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'On the nodes or clusters of a deleted policy the next one that selects them comes into force. Without a policy they keep everything.',
  ],
  examples: ['fleetgc policy delete web', 'fleetgc policy delete cluster/web'],
  options: z.object({
    names: withMeta(z.array(z.string()), {
      kind: 'list',
      positional: true,
      placeholder: 'NAME',
      description: 'Names of the policies; cluster/NAME for those for clusters.',
    }),
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ names, ...options }, context) => {
    const trust = await readOperatorTrust(options, context.signal);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context, options);
    const stored = await readStoredPolicies(log, context.signal);
    const deletion = deletionOf(stored, names);
    if (deletion.kind === 'not-stored') {
      await deleteUnheld(writer, deletion.notStored);
      if (deletion.notStored.length > 0) context.logger.info(deletionWritten(deletion.notStored));
      throw deletion.error;
    }
    const { keys } = deletion;
    await deleteKeys(writer, keys);
    for (const key of keys) context.print(`${key}: deleted`);
    context.logger.info(
      `The next policy that selects the same holds there now. Without any, everything is kept. Applied again, ${keys.length === 1 ? 'it' : 'each'} begins with version 1.`,
    );
  },
});

const deletionWritten = (names: readonly string[]): string =>
  `The deletion of ${names.map((name) => JSON.stringify(name)).join(', ')} was written to gc.policies all the same: services and nodes that remember such a policy of an earlier gc.policies let go of it when they read this.`;
