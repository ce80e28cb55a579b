import { z } from 'zod';
import { requireSame } from '../../../packages/log/topic-differences.ts';
import { objectOptions } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { printTopics, reportTopics } from '../../views/topics.ts';

export const verb = defineVerb({
  help: ['Changes nothing. The exit code is 1 when a topic is missing or differs.'],
  examples: ['fleetgc topics check --kafka-brokers kafka:9092'],
  options: z.object({ ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    await using log = await openTaskEventLog({ options, context });
    const differences = await log.checkTopics();
    const reports = reportTopics([], differences);
    await printTopics(context, output, reports);
    requireSame(differences);
  },
});
