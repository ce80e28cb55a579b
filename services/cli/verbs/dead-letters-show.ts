import { z } from 'zod';
import { findLetter } from '../../dead-letters/choose-letters.ts';
import { letterLines } from '../../dead-letters/letter-text.ts';
import { readStoredLetters } from '../../dead-letters/stored-letters.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Text, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const deadLettersShow = defineVerb({
  ...about('dead-letters show'),
  options: z.object({
    id: withMeta(Text, {
      positional: true,
      placeholder: 'ID',
      description: 'Id of the dead letter, or enough of its beginning.',
    }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ id, output, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const { letters } = await readStoredLetters(log, 'earliest', context.signal);
    const letter = findLetter(letters, id);
    context.print(formatResult(output, { value: letter, lines: letterLines(letter) }));
  },
});
