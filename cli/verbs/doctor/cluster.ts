import { z } from 'zod';
import { inClusterNamespace } from '../../../packages/kube-api/access.ts';
import { IN_CLUSTER, openConnection } from '../../../packages/kube-api/open-connection.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { PARTS } from '../../../services/cluster/access/rights.ts';
import { clusterOptions, leaseNamespaceOf, turnOptions } from '../../../services/cluster/cluster-options.ts';
import { runChecks } from '../../../services/doctor/checks.ts';
import { CLUSTER_CHECKS, lookAtCluster } from '../../../services/doctor/cluster.ts';
import { lookAtLog } from '../../../services/doctor/log.ts';
import { logAccess } from '../../framework/doctor-log-access.ts';
import { outputOptions } from '../../framework/output.ts';
import { versionLine } from '../../framework/program.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { clusterTrustOptions, readClusterTrust } from '../../options/trust-options.ts';
import { tellReport } from '../../views/doctor.ts';

export const verb = defineVerb({
  help: [
    'Run it where the agent or the executor of a cluster runs, with the options, the environment and the config file that they have there ("fleetgc cluster run": with --log embedded). It looks at everything that they need, all at once, and says for each check what it saw and what to do. It changes nothing in the cluster and writes nothing to the event log (docs/operating/doctor.md has all checks).',
    'Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 wrong options.',
  ],
  examples: [
    'fleetgc doctor cluster --cluster prod --kubeconfig in-cluster --part agent --kafka-brokers kafka:9092 --trust off',
    'fleetgc doctor cluster --cluster prod --kubeconfig ~/.kube/config --log embedded -o json',
  ],
  options: z.object({
    ...clusterOptions,
    part: withMeta(z.enum(PARTS).prefault('run'), {
      commandLineOnly: true,
      description: 'What runs with these options: cluster run, or one of its halves.',
    }),
    ...turnOptions,
    ...clusterTrustOptions,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ output, part, ...options }, context) => {
    using connections = new DisposableStack();
    await using logs = new AsyncDisposableStack();
    const { cluster, kubeconfig } = options;
    const { environment, signal } = context;
    const log = lookAtLog({
      role: 'cluster',
      ...logAccess(options, { context, logs }),
      trust: () => readClusterTrust(options, { cluster, seen: new SeenGenerations() }, signal),
    });
    const facts = lookAtCluster({
      cluster,
      part,
      leaseNamespace: leaseNamespaceOf(options, kubeconfig === IN_CLUSTER ? inClusterNamespace() : null),
      open: () => {
        const open = openConnection(options, { environment, sources: systemSources });
        connections.use(open.connection);
        return open;
      },
      log,
      version: versionLine(process.versions.node),
      sources: systemSources,
      signal,
    });
    const checks = await runChecks(CLUSTER_CHECKS, facts, pause);
    await tellReport(
      { of: 'cluster', name: cluster, version: PRODUCT_VERSION, checks: [...checks] },
      output,
      context,
    );
  },
});
