import { z } from 'zod';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { clusterOptions, turnOptions } from '../../../services/cluster/cluster-options.ts';
import { openCluster } from '../../../services/cluster/open-cluster.ts';
import { runAgentOnly } from '../../../services/cluster/run-cluster.ts';
import { openTurns } from '../../../services/cluster/turns.ts';
import { openService } from '../../framework/open-service.ts';
import { defineVerb } from '../../framework/verb.ts';
import { httpOptions, tracingOptions } from '../../options/common-options.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { clusterTrustOptions, readClusterTrust } from '../../options/trust-options.ts';

export const verb = defineVerb({
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
