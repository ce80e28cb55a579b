import type { EventLog } from '../../../packages/log/port.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { type Consumer, type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import type { CrashMarks } from '../../../packages/records/dead-letters/crash-marks.ts';
import type { DeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/events/command.ts';
import { type NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import { createNodeExecutor, type ExecutorDeps } from './executor.ts';

/**
 * How a node reads its orders: the partition of its key, from before every order that can still be alive. Agent and
 * executor share one consumer where they share a process.
 */
export const nodeSubscription = (
  identity: NodeIdentity,
): Pick<ConsumerSettings, 'group' | 'start' | 'assignment'> => ({
  group: `fleetgc-node-${identity.nodeInstance}`,
  start: 'latest',
  assignment: { kind: 'key', key: nodeKey(identity), lookBackMs: MAX_COMMAND_LIFETIME_MS },
});

interface NodeExecutorDeps extends ExecutorDeps {
  readonly log: EventLog;
  readonly trust: Trust;
  readonly deadLetters: DeadLetters;
  /** Count which processes ended over a message. */
  readonly marks: CrashMarks;
  /** Told of the consumer once it runs, for readiness. */
  readonly onStarted: (consumer: Consumer) => void;
}

/** Runs an executor on its own until `signal` aborts. */
export async function runNodeExecutor(deps: NodeExecutorDeps, signal: AbortSignal): Promise<void> {
  const { node, log, trust, publisher, deadLetters, logger, metrics, onStarted } = deps;
  const executor = createNodeExecutor(deps);
  await using consumer = await startConsumer({
    ...nodeSubscription(node.identity),
    name: 'node-executor',
    log,
    trust,
    handlers: { commands: executor.commands },
    onRejection: executor.onRejection,
    publisher,
    deadLetters,
    logger,
    marks: deps.marks,
    metrics,
    now: () => node.clock.now().wallTimeMs,
    monotonicNow: () => node.clock.now().sinceBootMs,
  });
  onStarted(consumer);
  using ending = new LinkedController(signal);
  const running = executor.run(ending.signal);
  try {
    await Promise.race([consumer.finished, running]);
  } finally {
    // Also when the consumer failed, the removal in hand is finished.
    ending.abort();
    await running;
  }
}
