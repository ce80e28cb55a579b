import { z } from 'zod';
import { readStatus } from '../../packages/read-model/status.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';
import { statusLines } from '../views/status.ts';

export const verb = defineVerb({
  help: [
    'What needs attention comes first. Then come brokers, topics, services with their replicas and their lag, policies, pauses, dead letters of the last day, how many nodes are heard and silent, and each cluster with its policy, what is held there, and what a person should look at. It reads the event log and changes nothing. The exit code says only whether the event log could be read; problems are in the answer (docs/operating/troubleshoot.md says what to do about each).',
  ],
  examples: ['fleetgc status', 'fleetgc status -o json', 'fleetgc status --log embedded'],
  options: z.object({ ...readingTrustOptions, ...outputOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const { signal } = context;
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const found = await readStatus(
      {
        log,
        roots,
        kind: options.log,
        nowMs: Date.now(),
        onProgress: (line) => context.progress.report(() => line),
      },
      signal,
    );
    await printResult(context, output, { value: found, lines: statusLines(found) });
  },
});
