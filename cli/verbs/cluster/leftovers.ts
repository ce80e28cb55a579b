import { z } from 'zod';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { clusterLeftovers } from '../../../services/cluster/ask/leftovers.ts';
import { apiServerOptions } from '../../../services/cluster/cluster-options.ts';
import { openApiServer } from '../../../services/cluster/open-cluster.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { leftoverLines, leftoverNames } from '../../views/cluster.ts';

export const verb = defineVerb({
  help: [
    'Shows what seems to be left over in a cluster, with its age and the reason: released volumes, finished Jobs beyond the history limits of their CronJob, Node objects of which no kubelet is heard, Leases that nobody renews, and ConfigMaps and Secrets that nothing seems to name. Nothing is changed, and FleetGC deletes none of it: look at each before you do.',
    'What names a ConfigMap or a Secret in a custom resource cannot be seen, nor what asks for one by its name in the API. Of Secrets only metadata is read.',
    'Exit codes: 0 it was told, 1 the API server could not be asked, 2 wrong options. Where a kind cannot be read, nothing is said of what needs it.',
  ],
  examples: [
    'fleetgc cluster leftovers --kubeconfig ~/.kube/config',
    'fleetgc cluster leftovers --kubeconfig ~/.kube/config --output json',
  ],
  options: z.object({ ...apiServerOptions, ...objectOptions }),
  run: async (options, { environment, signal, write }) => {
    using server = await openApiServer(options, { environment, sources: systemSources, signal });
    const { clusterInstance, connection } = server;
    const now = () => {
      const time = connection.clock.at(systemSources.monotonicNow());
      return time && { serverMs: time.earliestMs, spreadMs: time.latestMs - time.earliestMs };
    };
    const value = await clusterLeftovers({ connection, clusterInstance, now }, signal);
    await printObjects({ write }, options.output, {
      value,
      lines: leftoverLines(value),
      names: leftoverNames(value),
    });
  },
});
