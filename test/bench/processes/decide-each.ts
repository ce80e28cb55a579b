/** An image-gc that decides on each inventory, whatever lies behind it; all else is as in the service. */

import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { logContext } from '../context.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { broker, group }: ScriptArguments['decide-each'] = JSON.parse(argument);
const { logger } = logContext;
const { now, monotonicNow, random, wait, traceIds: ids } = systemSources;
const metrics = createMetrics();
const options = KafkaOptions.parse({ kind: 'kafka', brokers: [broker], clientId: group });
const log = await openKafkaLog(options, logContext);
const sources = { now: monotonicNow, random, wait };
const policies = startPolicySource({
  trust: TRUST_OFF,
  seen: new SeenGenerations(),
  log,
  logger,
  metrics,
  recheckMs: null,
  sources,
});
await policies.caughtUp;
const publisher = createPublisher({ signer: UNSIGNED, log, source: `/fleetgc/${group}`, now, ids });
await startConsumer({
  trust: TRUST_OFF,
  name: group,
  group,
  start: 'earliest',
  assignment: { kind: 'shared' },
  log,
  handlers: { inventory: imageGcHandler(policies.current.node) },
  publisher,
  deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow }),
  logger,
  marks: NO_MARKS,
  metrics,
  now,
  monotonicNow,
});
process.once('SIGTERM', async () => {
  await log[Symbol.asyncDispose]();
  process.exit();
});
process.stdout.write('ready\n');
