import { z } from 'zod';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { withMeta } from '../../shared/option-types.ts';
import { defineVerb } from '../../shared/verb.ts';
import { fleetNodes } from '../fleet/fleet-nodes.ts';
import { readHeardNodes } from '../fleet/heard-nodes.ts';
import { nodeLines } from '../fleet/node-table.ts';
import { readingLine } from '../fleet/reading-line.ts';
import { warnOfUnreadable } from '../policy-warnings.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const nodes = defineVerb({
  ...about('nodes'),
  options: z.object({
    output: withMeta(z.enum(['table', 'wide', 'json']).prefault('table'), {
      description: 'table or wide for people, wide with more columns; json for everything there is to say.',
    }),
    ...logOptions('kafka'),
  }),
  run: async ({ output, ...options }, context) => {
    const { logger, signal } = context;
    await using log = await openTaskLog({ options, context });
    const nowMs = Date.now();
    const stored = await readStoredPolicies(log, signal);
    const heard = await readHeardNodes({ log, nowMs, onProgress: readingLine(logger) }, signal);
    warnOfUnreadable(stored, logger);
    const found = fleetNodes(heard, stored.set, nowMs);
    if (found.unreadable > 0) logger.warn(`${found.unreadable} records could not be read, and are left out`);
    if (output === 'json') return await context.write(`${JSON.stringify(found, null, 2)}\n`);
    if (found.nodes.length === 0) return logger.info('No node was heard in the last day.');
    await context.write(
      nodeLines(found, output === 'wide')
        .map((line) => `${line}\n`)
        .join(''),
    );
  },
});
