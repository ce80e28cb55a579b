import { z } from 'zod';
import { requireSame } from '../../../packages/event-log/require-same.ts';
import { formatResult, outputOptions } from '../../framework/output.ts';
import { openTaskLog } from '../../framework/task-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { logOptions } from '../../options/option-groups.ts';
import { reportTopics, topicLines } from '../../views/topics/topic-report.ts';

export const verb = defineVerb({
  help: ['Changes nothing. The exit code is 1 when a topic is missing or differs.'],
  examples: ['fleetgc topics check --kafka-brokers kafka:9092'],
  options: z.object({ ...outputOptions, ...logOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const differences = await log.checkTopics();
    const reports = reportTopics([], differences);
    context.print(formatResult(output, { value: reports, lines: topicLines(reports) }));
    requireSame(differences);
  },
});
