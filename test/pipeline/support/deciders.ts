import { randomUUID } from 'node:crypto';
import { type PolicySource, startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import type { Consumer } from '../../../packages/records/consume.ts';
import type { DeciderName } from '../../../schemas/events/object-kinds.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import type { Surroundings } from './surroundings.ts';

export const ALL_DECIDERS: readonly DeciderName[] = ['pressure', 'container-gc', 'image-gc'];

/** One replica of each decision service, in one process. */
export interface DeciderRun {
  readonly policies: PolicySource;
  readonly consumers: readonly Consumer[];
  stop(): Promise<void>;
}

export async function startDeciders(
  surroundings: Surroundings,
  recheckMs: number | null,
): Promise<DeciderRun> {
  const { log, logger, now, monotonicNow, ids, random, wait } = surroundings;
  const { trust, signer, keys, seen } = surroundings.trust;
  const metrics = createMetrics();
  const sources = { now: monotonicNow, random, wait };
  const policies = startPolicySource({ trust, seen, log, logger, metrics, recheckMs, sources });
  keys?.onChange(() => policies.readAgain());
  await policies.caughtUp;
  const deps = {
    log,
    trust,
    signer,
    heads: keys && {
      newId: randomUUID,
      statements: () => keys.ring().generations,
      problem: () => null,
      wait,
    },
    policies: policies.current.node,
    logger,
    metrics,
    ids,
    now,
    monotonicNow,
  };
  const consumers = await Promise.all(ALL_DECIDERS.map((name) => startDecider(name, deps)));
  return {
    policies,
    consumers,
    stop: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await policies[Symbol.asyncDispose]();
    },
  };
}
