import { z } from 'zod';
import { logOptions } from '../../shared/option-groups.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { readStatus } from '../fleet/read-status.ts';
import { readingLine } from '../fleet/reading-line.ts';
import { statusLines } from '../fleet/status-lines.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const status = defineVerb({
  ...about('status'),
  options: z.object({ ...outputOptions, ...logOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    const { logger, signal } = context;
    await using log = await openTaskLog({ options, context });
    const found = await readStatus(
      { log, kind: options.log, nowMs: Date.now(), onProgress: readingLine(logger) },
      signal,
    );
    await context.write(`${formatResult(output, { value: found, lines: statusLines(found) })}\n`);
  },
});
