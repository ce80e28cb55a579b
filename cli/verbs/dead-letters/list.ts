import { z } from 'zod';
import { Switch, withMeta } from '../../../packages/process/options/options.ts';
import { filterLetters, readLetterSummaries } from '../../../packages/read-model/letters.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { letterFilterOptions, readFrom, toLetterFilter } from '../../options/dead-letter-options.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { letterSummary, letterTable } from '../../views/letters.ts';

export const verb = defineVerb({
  help: [
    'A consumer that cannot process a message keeps it as a dead letter and goes on. At most 10 per minute and key are kept; more are counted.',
  ],
  examples: [
    'fleetgc dead-letters list --since 24h',
    'fleetgc dead-letters list --cause wrong-schema --key prod/web-1',
  ],
  options: z.object({
    ...letterFilterOptions,
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also those whose message was put back.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ topic, cause, group, key, since, all, output, ...options }, context) => {
    const { logger, write, signal } = context;
    await using log = await openTaskEventLog({ options, context });
    const stored = await readLetterSummaries(log, readFrom({ since }, Date.now()), signal);
    const filter = toLetterFilter({ topic, cause, group, key, since }, all);
    const letters = filterLetters(stored.letters, filter);
    if (stored.unreadable > 0)
      logger.warn(`${stored.unreadable} records on the topic are no dead letters and are left out`);
    if (letters.length === 0) logger.info('There are no such dead letters.');
    await printObjects({ write }, output, {
      value: letters.map(letterSummary),
      lines: letterTable(letters, false),
      wideLines: letterTable(letters, true),
      names: letters.map(({ letter }) => letter.id),
    });
  },
});
