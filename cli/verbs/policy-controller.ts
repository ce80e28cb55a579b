import { z } from 'zod';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import { SECOND_MS } from '../../packages/process/durations.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { clusterOptions, turnOptions } from '../../services/cluster/cluster-options.ts';
import { openCluster } from '../../services/cluster/open-cluster.ts';
import { PolicyController } from '../../services/cluster/policy-controller/main.ts';
import { canNamePolicies } from '../../services/cluster/policy-controller/written-policy.ts';
import { openTurns } from '../../services/cluster/turns.ts';
import { openService } from '../framework/open-service.ts';
import { controllerPolicyLog } from '../framework/policy-writer.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { LongDuration } from '../options/time-options.ts';
import { readPolicyControllerTrust, signingOptions } from '../options/trust-options.ts';

const SHORTEST_COUNT_MS = 10 * SECOND_MS;

const options = z.object({
  ...clusterOptions,
  ...turnOptions,
  countNodesEvery: withMeta(
    LongDuration.refine((ms) => ms >= SHORTEST_COUNT_MS, { error: 'must be at least 10s' }).prefault('5m'),
    {
      description:
        'How often to count the nodes that a policy selects. Each time the last minutes of what all nodes of the fleet tell are read.',
    },
  ),
  ...httpOptions(9656),
  ...tracingOptions,
  ...signingOptions,
  ...eventLogOptions('kafka'),
});

export const policyControllerVerb = defineVerb({
  help: [
    'Brings the policies that lie in a cluster as Kubernetes objects (GarbageCollectionPolicy) to the event log, and tells each object what became of it. They are for nodes of this cluster alone, and what operators of the fleet apply comes first.',
    'Its key has the role policy-controller, for its own cluster. While objects cannot be listed nothing is changed.',
    'Start two if you like: a Lease of the cluster says which one works, and the other takes over within 20 s.',
  ],
  examples: [
    'fleetgc policy-controller --cluster prod-eu --kubeconfig in-cluster --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file policies.pem',
  ],
  options,
  run: async (given, context) => {
    const { environment, signal } = context;
    if (!canNamePolicies(given.cluster)) throw configError([nameProblem(given.cluster)]);
    const readTrust = (stop: AbortSignal) => readPolicyControllerTrust(given, given.cluster, stop);
    const trust = await readTrust(signal);
    using cluster = await openCluster(given, { environment, sources: systemSources, signal });
    await using process = await openService('policy-controller', given, trust, context);
    const { log, metrics, logger, sources } = process;
    const controller = new PolicyController({
      ...cluster,
      policies: controllerPolicyLog(log, process.followPolicies(POLICY_RECHECK_MS), { readTrust, logger }),
      log,
      countNodesEveryMs: given.countNodesEvery,
      sources,
      metrics,
      logger,
    });
    const turns = openTurns({ role: 'policies', process, cluster, options: given });
    process.addCheck({ name: 'policy-controller', problem: () => controller.problem() });
    logger.info({ ...cluster.identity, server: cluster.server }, 'this cluster');
    const work = (stop: AbortSignal): Promise<void> => controller.run(stop);
    await (turns === null ? work(signal) : turns.run(work, signal));
  },
});

const nameProblem = (cluster: string): string =>
  `--cluster ${cluster}: the names of policies begin with the name of their cluster, and have at most 63 lower-case letters, digits, dots and dashes. Policies of this cluster can be applied from files alone`;
