import { z } from 'zod';
import { systemSources } from '../../../packages/process/system-sources.ts';
import {
  clusterExecutorOptions,
  clusterOptions,
  openExecutorState,
  removingOptions,
  turnOptions,
} from '../../../services/cluster/cluster-options.ts';
import { openCluster } from '../../../services/cluster/open-cluster.ts';
import { runExecutorOnly } from '../../../services/cluster/run-cluster.ts';
import { openTurns } from '../../../services/cluster/turns.ts';
import { openService } from '../../framework/open-service.ts';
import { defineVerb } from '../../framework/verb.ts';
import { httpOptions, tracingOptions } from '../../options/common-options.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { clusterTrustOptions, keptGenerations, readClusterTrust } from '../../options/trust-options.ts';

export const verb = defineVerb({
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
