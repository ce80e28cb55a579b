import { DECIDERS, type SubjectOfDecider } from '../../packages/deciders/registry.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { untilAborted } from '../../packages/process/loops.ts';
import { ClusterWatch, NodeWatch } from '../../packages/read-model/fleet-watch.ts';
import type { Consumer } from '../../packages/records/consume.ts';
import { consumeUntil } from '../../packages/service/consume-until.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import type { AnyDeciderName } from '../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';

/** What all decision services of a process share; each has the policies of its own kind of subject. */
type SharedDeps = Omit<DecisionServiceDeps<SubjectKind>, 'policies'>;

/** These hear of every node or every cluster each minute, so they watch which of them stop reporting. */
const WATCHES: {
  readonly [Name in AnyDeciderName]?: (
    deps: DecisionServiceDeps<SubjectOfDecider<Name>>,
  ) => NodeWatch | ClusterWatch;
} = {
  pressure: (deps) => new NodeWatch(deps),
  'graph-gc': (deps) => new ClusterWatch(deps),
};

/** Starts one replica of a decision service: facts in, orders and commands out. */
export async function startDecider<Name extends AnyDeciderName>(
  name: Name,
  deps: DecisionServiceDeps<SubjectOfDecider<Name>>,
): Promise<Consumer> {
  const { decider } = await DECIDERS[name].load();
  const watch = WATCHES[name]?.(deps);
  if (watch === undefined) return startDecisionService(decider, deps);
  const consumer = await startDecisionService(
    { ...decider, onEvent: (event, record) => watch.received(event, record) },
    deps,
  );
  watch.follow(consumer);
  return consumer;
}

interface DeciderRun {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  readonly signal: AbortSignal;
}

/** Runs one replica of each until the signal aborts. They begin when the policies were read for the first time. */
export async function runDeciders(
  names: readonly AnyDeciderName[],
  { process, policies, signal }: DeciderRun,
): Promise<void> {
  const { log, trust, signer, heads, belief, metrics, tracer, logger, sources } = process;
  await Promise.race([policies.caughtUp, untilAborted(signal)]);
  if (signal.aborted) return;
  const { traceIds: ids, now, monotonicNow } = sources;
  const shared: SharedDeps = {
    log,
    trust,
    signer,
    heads,
    belief,
    logger,
    metrics,
    tracer,
    ids,
    now,
    monotonicNow,
  };
  const start = async <Name extends AnyDeciderName>(name: Name): Promise<Consumer> => {
    const { decider } = await DECIDERS[name].load();
    return startDecider(name, { ...shared, policies: policies.current[decider.subject] });
  };
  const consumers: Consumer[] = [];
  for (const name of names) {
    const consumer = await start(name);
    process.addCheck({ name, problem: () => consumer.problem() });
    consumers.push(consumer);
  }
  await consumeUntil(signal, consumers);
}
