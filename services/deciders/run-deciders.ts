import { startContainerGc } from '../../packages/deciders/container-gc/main.ts';
import { startExpiryGc } from '../../packages/deciders/expiry-gc/main.ts';
import { startGraphGc } from '../../packages/deciders/graph-gc/main.ts';
import { startImageGc } from '../../packages/deciders/image-gc/main.ts';
import { startPodGc } from '../../packages/deciders/pod-gc/main.ts';
import { startPressure } from '../../packages/deciders/pressure/main.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { untilAborted } from '../../packages/process/loops.ts';
import type { Consumer } from '../../packages/records/consume.ts';
import { consumeUntil } from '../../packages/service/consume-until.ts';
import type { DecisionServiceDeps } from '../../packages/service/decision-service.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import type { AnyDeciderName } from '../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { DeciderName } from '../../schemas/events/object-kinds.ts';

/** What all decision services of a process share; each has the policies of its own kind of subject. */
type SharedDeps = Omit<DecisionServiceDeps<SubjectKind>, 'policies'>;
type StartDecider = (deps: SharedDeps, current: PolicySource['current']) => Promise<Consumer>;

function about<Kind extends SubjectKind>(
  kind: Kind,
  start: (deps: DecisionServiceDeps<Kind>) => Promise<Consumer>,
): StartDecider {
  return (deps, current) => start({ ...deps, policies: current[kind] });
}

/** The decision services of nodes by their names. */
export const DECIDERS = {
  pressure: startPressure,
  'container-gc': startContainerGc,
  'image-gc': startImageGc,
} as const satisfies Record<DeciderName, (deps: DecisionServiceDeps<'node'>) => Promise<Consumer>>;

/** All of them; a process may run any of them together. */
const STARTS: Readonly<Record<AnyDeciderName, StartDecider>> = {
  pressure: about('node', DECIDERS.pressure),
  'container-gc': about('node', DECIDERS['container-gc']),
  'image-gc': about('node', DECIDERS['image-gc']),
  'graph-gc': about('cluster', startGraphGc),
  'pod-gc': about('cluster', startPodGc),
  'expiry-gc': about('cluster', startExpiryGc),
};

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
  const deps = {
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
  const consumers: Consumer[] = [];
  for (const name of names) {
    const consumer = await STARTS[name](deps, policies.current);
    process.addCheck({ name, problem: () => consumer.problem() });
    consumers.push(consumer);
  }
  await consumeUntil(signal, consumers);
}
