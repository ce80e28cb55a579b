import type { Consumer } from '../../packages/pipeline/consume.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { untilAborted } from '../../packages/process/loops.ts';
import { consumeUntil } from '../../packages/service/consume-until.ts';
import type { DecisionServiceDeps } from '../../packages/service/decision-service.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { startContainerGc } from '../container-gc/main.ts';
import { startImageGc } from '../image-gc/main.ts';
import { startPressure } from '../pressure/main.ts';

/** The decision services by their names; a process may run any of them together. */
export const DECIDERS = {
  pressure: startPressure,
  'container-gc': startContainerGc,
  'image-gc': startImageGc,
} as const satisfies Record<string, (deps: DecisionServiceDeps<'node'>) => Promise<Consumer>>;
export type DeciderName = keyof typeof DECIDERS;

interface DeciderRun {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  readonly signal: AbortSignal;
}

/** Runs one replica of each until the signal aborts. They begin when the policies were read for the first time. */
export async function runDeciders(
  names: readonly DeciderName[],
  { process, policies, signal }: DeciderRun,
): Promise<void> {
  const { log, trust, signer, heads, metrics, logger, sources } = process;
  await Promise.race([policies.caughtUp, untilAborted(signal)]);
  if (signal.aborted) return;
  const { traceIds: ids, now, monotonicNow } = sources;
  const deps = {
    log,
    policies: policies.current.node,
    trust,
    signer,
    heads,
    logger,
    metrics,
    ids,
    now,
    monotonicNow,
  };
  const consumers: Consumer[] = [];
  for (const name of names) {
    const consumer = await DECIDERS[name](deps);
    process.addCheck({ name, problem: () => consumer.problem() });
    consumers.push(consumer);
  }
  await consumeUntil(signal, consumers);
}
