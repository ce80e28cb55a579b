import { z } from 'zod';
import { requireSame } from '../../../packages/event-log/require-same.ts';
import { formatResult, outputOptions } from '../../framework/output.ts';
import { openTaskLog } from '../../framework/task-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { about } from '../../framework/verb-list.ts';
import { logOptions } from '../../options/option-groups.ts';
import { reportTopics, topicLines } from '../../views/topics/topic-report.ts';

export const topicsCheck = defineVerb({
  ...about('topics check'),
  options: z.object({ ...outputOptions, ...logOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    await using log = await openTaskLog({ options, context });
    const differences = await log.checkTopics();
    const reports = reportTopics([], differences);
    context.print(formatResult(output, { value: reports, lines: topicLines(reports) }));
    requireSame(differences);
  },
});
