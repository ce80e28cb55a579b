import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { DurationMs } from '../../../schemas/quantity.ts';
import type { TopicName } from '../../../schemas/topics.ts';
import { toFleetGcError } from '../../shared/errors.ts';
import type { EventLog } from '../../shared/event-log/port.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb, type VerbContext } from '../../shared/verb.ts';
import { requireSame } from '../../topics/require-same.ts';
import { reportTopics, topicLines } from '../../topics/topic-report.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

const RETRY_MS = 1_000;

export const topicsCreate = defineVerb({
  ...about('topics create'),
  options: z.object({
    wait: withMeta(DurationMs.prefault('0s'), {
      placeholder: 'DURATION',
      description: 'How long to wait for the event log when it does not answer.',
    }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ wait, output, ...options }, context) => {
    const deadlineMs = performance.now() + wait;
    await using log = await openTaskLog({ options, context, create: true });
    const created = await createInTime(log, deadlineMs, context);
    const differences = await log.checkTopics();
    const reports = reportTopics(created, differences);
    context.print(formatResult(output, { value: reports, lines: topicLines(reports) }));
    requireSame(differences);
  },
});

/** Tells once what it waits for. */
async function createInTime(
  log: EventLog,
  deadlineMs: number,
  { logger, signal }: VerbContext,
): Promise<readonly TopicName[]> {
  for (let told = false; ; told = true) {
    try {
      return await log.createTopics();
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (!error.retry || performance.now() >= deadlineMs) throw error;
      if (!told) logger.info(`${error.message} Waiting for it.`);
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
