import { z } from 'zod';
import { logOptions } from '../../shared/option-groups.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { requireSame } from '../../topics/require-same.ts';
import { reportTopics, topicLines } from '../../topics/topic-report.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

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
