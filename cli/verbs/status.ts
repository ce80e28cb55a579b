import { z } from 'zod';
import { readStatus } from '../../services/fleet-status/fleet-status.ts';
import { formatResult, outputOptions } from '../framework/output.ts';
import { openTaskLog } from '../framework/task-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { about } from '../framework/verb-list.ts';
import { logOptions } from '../options/option-groups.ts';
import { readingLine } from '../views/fleet/reading-line.ts';
import { statusLines } from '../views/fleet/status-lines.ts';

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
