import { z } from 'zod';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import { findLetter, readStoredLetters } from '../../../services/dead-letters/letters.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { letterLines } from '../../views/dead-letters/letter-text.ts';

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
    const { letters } = await readStoredLetters(log, 'earliest', context.signal);
    const letter = findLetter(letters, id);
    const names = [letter.letter.id];
    await printObjects(context, output, { value: letter, lines: letterLines(letter), names });
  },
});
