import { z } from 'zod';
import { differencesSince } from '../../../packages/log/heard-of.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { requireSame } from '../../../packages/log/topic-differences.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { DurationMs } from '../../../schemas/policy/quantity.ts';
import { objectOptions } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { printTopics, reportTopics } from '../../views/topics.ts';

const RETRY_MS = 1_000;

export const verb = defineVerb({
  help: [
    'On Kafka, run it once before anything else. It never changes an existing topic: if one differs from what this release needs, it says so, and the exit code is 1.',
  ],
  examples: [
    'fleetgc topics create --kafka-brokers kafka-1:9092,kafka-2:9092',
    'fleetgc topics create --kafka-brokers kafka:9092 --wait 60s',
    'fleetgc topics create --log embedded --log-path ./fleetgc.db',
  ],
  options: z.object({
    wait: withMeta(DurationMs.prefault('0s'), {
      placeholder: 'DURATION',
      description: 'How long to wait for the event log when it does not answer.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ wait, output, ...options }, context) => {
    const deadlineMs = performance.now() + wait;
    await using log = await openTaskEventLog({ options, context, create: true });
    const created = await createInTime(log, deadlineMs, context);
    const differences = await differencesSince(log, { created });
    const reports = reportTopics(created, differences);
    await printTopics(context, output, reports);
    requireSame(differences);
  },
});

async function createInTime(
  log: EventLog,
  deadlineMs: number,
  { progress, signal }: VerbContext,
): Promise<readonly TopicName[]> {
  for (;;) {
    try {
      return await log.createTopics();
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (!error.retry || signal.aborted || performance.now() >= deadlineMs) throw error;
      progress.report(() => `${error.message} Waiting for it`);
      await pause(RETRY_MS, signal);
    }
  }
}
