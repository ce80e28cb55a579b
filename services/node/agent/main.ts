import { runTogether, untilAborted } from '../../../packages/process/loops.ts';
import { type Consumer, type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { OBSERVE_LIFETIME_MS } from '../../../schemas/events/observe.ts';
import { NodeAgent, type NodeAgentDeps } from './agent.ts';

interface NodeAgentProcess {
  readonly agent: NodeAgentDeps;
  readonly consuming: Pick<
    ConsumerSettings,
    'log' | 'trust' | 'publisher' | 'deadLetters' | 'marks' | 'now' | 'monotonicNow'
  >;
}

/** An agent in a process of its own, with a consumer of its own. */
interface RunningAgent {
  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  problem(): string | null;
  /** Resolves when the signal aborted and all has ended; rejects on a failure that no retry mends. */
  readonly finished: Promise<void>;
}

/** Reads the node and publishes facts, and answers orders, until the signal aborts. */
export function runNodeAgent(
  { agent: deps, consuming }: NodeAgentProcess,
  signal: AbortSignal,
): RunningAgent {
  const { identity, logger, metrics } = deps;
  const agent = new NodeAgent(deps);
  let consumer: Consumer | null = null;
  const consume = async (stop: AbortSignal): Promise<void> => {
    consumer = await startConsumer({
      ...consuming,
      name: 'node-agent',
      group: `fleetgc-agent-${identity.nodeInstance}`,
      start: 'latest',
      assignment: { kind: 'key', key: nodeKey(identity), lookBackMs: OBSERVE_LIFETIME_MS },
      handlers: { observe: agent.observe },
      logger,
      metrics,
    });
    await untilStopped(consumer, stop);
  };
  return {
    problem: () =>
      agent.problem() ?? (consumer ? consumer.problem() : 'is not connected to the event log yet'),
    finished: runTogether([agent.run, consume], signal),
  };
}

async function untilStopped(consumer: Consumer, stop: AbortSignal): Promise<void> {
  await Promise.race([untilAborted(stop), consumer.finished]);
  await consumer.stop();
}
