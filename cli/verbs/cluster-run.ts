import { join } from 'node:path';
import { z } from 'zod';
import { FilePath, Switch, withMeta } from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import {
  clusterExecutorOptions,
  clusterOptions,
  openExecutorState,
  removingOptions,
  STATE_DIRECTORY,
  turnOptions,
} from '../../services/cluster/cluster-options.ts';
import { openCluster } from '../../services/cluster/open-cluster.ts';
import { runAgentOnly, runExecutorOnly } from '../../services/cluster/run-cluster.ts';
import { openTurns } from '../../services/cluster/turns.ts';
import { openService, openServiceOn, quieter, tracingOf } from '../framework/open-service.ts';
import { loadClusterPolicyFiles, requireValid } from '../framework/policy-files.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { PolicyPaths } from '../options/policy-options.ts';
import { clusterTrustOptions, keptGenerations, readClusterTrust } from '../options/trust-options.ts';

const { logMaxSize } = eventLogOptions('embedded');

export const runVerb = defineVerb({
  help: [
    'Agent, decision service and executor for one Kubernetes cluster in one process, with the event log in a file. It deletes objects whose owners are gone, as the garbage collector of kube-controller-manager does, and more carefully. It also deletes pods that ended or whose nodes are gone, what is past its TTL, and what your own rules let go.',
    'Nothing is changed unless a policy of --policy selects the cluster, says "mode: enforce", and names the collector whose work it is among its collectors or has a rule for it. Begin with "mode: dry-run".',
    'The API server has to be there when it starts. Later it may come and go.',
  ],
  examples: [
    'fleetgc cluster run --cluster prod --kubeconfig ~/.kube/config --policy clusters.yaml',
    'fleetgc cluster run --cluster prod --kubeconfig in-cluster --policy clusters.yaml --log-path /data/prod.db',
  ],
  options: z.object({
    ...clusterOptions,
    policy: withMeta(PolicyPaths.optional(), {
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to go by, and no others; may be repeated. Without any nothing is removed.',
    }),
    json: withMeta(Switch.prefault('false'), {
      description: 'Print decisions and results themselves, one JSON document a line.',
    }),
    ...httpOptions(9651),
    ...tracingOptions,
    logPath: withMeta(FilePath.optional(), {
      description: `File of the embedded log; cluster-NAME.db in ${STATE_DIRECTORY} when not given.`,
    }),
    logMaxSize,
    ...removingOptions,
  }),
  run: async ({ policy: paths = [], json, httpAddress, ...options }, context) => {
    const { runClusterPipeline } = await import('../run/cluster.ts');
    const { logger, print, signal, environment } = context;
    const logPath = options.logPath ?? join(STATE_DIRECTORY, `cluster-${options.cluster}.db`);
    const written = requireValid(loadClusterPolicyFiles(paths), logger, 'nothing was started');
    using cluster = await openCluster(options, { environment, sources: systemSources, signal });
    await using process = await openServiceOn({
      service: 'cluster-run',
      eventLog: {
        kind: 'embedded',
        path: logPath,
        maxBytes: Number(options.logMaxSize),
        keepsSpace: true,
      },
      trust: { kind: 'off' },
      httpAddress,
      tracing: tracingOf(options, context),
      logger: quieter(logger),
    });
    const told = { logPath, json, print, removing: options };
    await runClusterPipeline({ process, cluster, written, ...told }, signal);
  },
});

export const agentVerb = defineVerb({
  help: [
    'The reading half of a cluster: it follows all kinds of objects and publishes those for which something may have to be done. It cannot change any of them.',
    'Start two if you like: a Lease of the cluster says which one works, and the other takes over within 20 s.',
    'The API server has to be there when it starts. Later it may come and go.',
  ],
  examples: [
    'fleetgc cluster agent --cluster prod --kubeconfig in-cluster --kafka-brokers kafka:9092 --trust off',
    'fleetgc cluster agent --cluster prod --kubeconfig in-cluster --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file cluster.pem',
  ],
  options: z.object({
    ...clusterOptions,
    ...turnOptions,
    ...httpOptions(9654),
    ...tracingOptions,
    ...clusterTrustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (options, context) => {
    const { environment, signal } = context;
    const { cluster } = options;
    // It tells more where a policy changes, and removes under none, so nobody gains by putting one back before it.
    const trust = await readClusterTrust(options, { cluster, seen: new SeenGenerations() }, signal);
    using open = await openCluster(options, { environment, sources: systemSources, signal });
    await using process = await openService('cluster-agent', options, trust, context);
    const policies = process.followPolicies(null);
    const turns = openTurns({ role: 'agent', process, cluster: open, options });
    await runAgentOnly({ process, cluster: open, signal }, { turns, policies });
  },
});

export const executorVerb = defineVerb({
  help: [
    'The removing half of a cluster: it carries out commands, and only what the policy in force and a look of its own at the API server still allow.',
    'Start two if you like: a Lease of the cluster says which one works, and the other takes over within 20 s.',
    'Without the owner graph of an agent it keeps two things that fleetgc cluster run removes or releases: what an owner left whose kind is not served any more, and in profile kubernetes owners with the finalizer orphan.',
    'The API server has to be there when it starts. Later it may come and go.',
  ],
  examples: [
    'fleetgc cluster executor --cluster prod --kubeconfig in-cluster --kafka-brokers kafka:9092 --trust off',
    'fleetgc cluster executor --cluster prod --kubeconfig in-cluster --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file cluster.pem',
  ],
  options: z.object({
    ...clusterOptions,
    ...turnOptions,
    ...clusterExecutorOptions,
    ...removingOptions,
    ...httpOptions(9655),
    ...tracingOptions,
    ...clusterTrustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (options, context) => {
    const { environment, signal, logger } = context;
    const { cluster } = options;
    using state = openExecutorState(options);
    const seen = keptGenerations(options, state, logger);
    const trust = await readClusterTrust(options, { cluster, seen }, signal);
    using open = await openCluster(options, { environment, sources: systemSources, signal });
    await using process = await openService('cluster-executor', options, trust, context);
    const policies = process.followPolicies(null);
    const turns = openTurns({ role: 'executor', process, cluster: open, options });
    const removing = { policies, state, removing: options, turns };
    await runExecutorOnly({ process, cluster: open, signal }, removing);
  },
});
