import { z } from 'zod';
import { filterLetters } from '../../dead-letters/choose-letters.ts';
import { letterSummary, letterTable } from '../../dead-letters/letter-text.ts';
import { readStoredLetters } from '../../dead-letters/stored-letters.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Switch, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { letterFilterOptions, readFrom, toLetterFilter } from '../letter-options.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const deadLettersList = defineVerb({
  ...about('dead-letters list'),
  options: z.object({
    ...letterFilterOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also those whose message was put back.',
    }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ topic, cause, group, key, since, all, output, ...options }, context) => {
    const { logger, print, signal } = context;
    await using log = await openTaskLog({ options, context });
    const stored = await readStoredLetters(log, readFrom({ since }, Date.now()), signal);
    const filter = toLetterFilter({ topic, cause, group, key, since }, all);
    const letters = filterLetters(stored.letters, filter);
    if (stored.unreadable > 0)
      logger.warn(`${stored.unreadable} records on the topic are no dead letters and are left out`);
    if (letters.length === 0) logger.info('There are no such dead letters.');
    const result = { value: letters.map(letterSummary), lines: letterTable(letters) };
    if (output !== 'table' || letters.length > 0) print(formatResult(output, result));
  },
});
