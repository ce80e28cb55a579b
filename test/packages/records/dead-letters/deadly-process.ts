import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { Subscription } from '../../../../packages/log/port.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { startConsumer } from '../../../../packages/records/consume.ts';
import { NO_MARKS, openCrashMarks } from '../../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { logLines } from '../../../support/log-lines.ts';
import { silentContext } from '../../log/probe.ts';

/** What `deadly-process.ts` is started with, as JSON. */
export interface DeadlyProcess {
  readonly log: unknown;
  readonly group: string;
  readonly assignment: Subscription['assignment'];
  readonly stateDirectory: string;
}

/** A consumer of disk statistics that prints `handled <id>`, and is killed by those whose id is `deadly`. */
const { log: options, group, assignment, stateDirectory }: DeadlyProcess = JSON.parse(process.argv[2] ?? '');
const { now, monotonicNow, traceIds: ids } = systemSources;
const metrics = createMetrics();
const logger = createLogger({ service: 'deadly', level: 'silent' }, logLines());
const log = await openEventLog(EventLogOptions.parse(options), silentContext());
const publisher = createPublisher({ signer: UNSIGNED, log, source: '/fleetgc/deadly', now, ids });
await startConsumer({
  trust: TRUST_OFF,
  name: 'deadly',
  group,
  start: 'earliest',
  assignment,
  log,
  handlers: {
    diskStats: ({ event }) => {
      if (event.id === 'deadly') process.kill(process.pid, 'SIGKILL');
      process.stdout.write(`handled ${event.id}\n`);
      return [];
    },
  },
  publisher,
  deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow }),
  // Services have no directory of their own.
  marks: assignment.kind === 'key' ? openCrashMarks(stateDirectory, 'in-hand', logger) : NO_MARKS,
  logger,
  metrics,
  now,
  monotonicNow,
});
