import { type Consumer, startConsumer } from '../../packages/pipeline/consume.ts';
import { createDeadLetters } from '../../packages/pipeline/dead-letters/dead-letters.ts';
import { createPublisher, serviceSource } from '../../packages/pipeline/publisher.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { Member } from './member.ts';

/** One consumer for the orders and commands of the whole fleet: gives each to the node of its key. */
export async function consumeOrders(
  process: ServiceProcess,
  memberOf: (key: string) => Member | undefined,
): Promise<Consumer> {
  const { log, logger, metrics, sources } = process;
  const { now, monotonicNow, traceIds: ids } = sources;
  const publisher = createPublisher({ log, source: serviceSource('simulate-fleet'), now, ids });
  // Another run has other nodes, whatever they are called.
  const group = `fleetgc-simulated-fleet-${sources.newId()}`;
  return await startConsumer({
    name: 'simulate-fleet',
    group,
    start: 'latest',
    assignment: { kind: 'shared' },
    log,
    handlers: {
      observe: (input) => memberOf(nodeKey(input.event))?.observe(input) ?? [],
      commands: (input) => memberOf(nodeKey(input.event))?.commands(input) ?? [],
    },
    onRejection: (topic, rejection, record) =>
      memberOf(record.key ?? '')?.rejected(topic, rejection, record) ?? [],
    publisher,
    deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow }),
    logger,
    metrics,
    now,
    monotonicNow,
  });
}
