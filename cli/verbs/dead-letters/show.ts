import { z } from 'zod';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import { findLetters, readLettersBeginning } from '../../../packages/read-model/letters.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { letterLines } from '../../views/letters.ts';

export const verb = defineVerb({
  examples: [
    'fleetgc dead-letters show dead-letter-3f2a',
    'fleetgc dead-letters show dead-letter-3f2a -o json',
  ],
  options: z.object({
    id: withMeta(Text, {
      positional: true,
      placeholder: 'ID',
      description: 'Id of the dead letter, or enough of its beginning.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ id, output, ...options }, context) => {
    await using log = await openTaskEventLog({ options, context });
    const { letters } = await readLettersBeginning(log, [id], context.signal);
    const found = findLetters(letters, id);
    if (found.length > 1)
      context.logger.warn(
        `${found.length} dead letters have this id, and at most one of them is true: redrive puts back only what lies at its position`,
      );
    const [first] = found;
    await printObjects(context, output, {
      value: found.length === 1 ? first : found,
      lines: found.flatMap((letter, index) => [...(index === 0 ? [] : ['']), ...letterLines(letter)]),
      names: found.slice(0, 1).map(({ letter }) => letter.id),
    });
  },
});
