import { join } from 'node:path';
import { z } from 'zod';
import { FilePath, Switch, withMeta } from '../../../packages/process/options/options.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import {
  clusterOptions,
  removingOptions,
  STATE_DIRECTORY,
} from '../../../services/cluster/cluster-options.ts';
import { openCluster } from '../../../services/cluster/open-cluster.ts';
import { openServiceOn, quieter, tracingOf } from '../../framework/open-service.ts';
import { defineVerb } from '../../framework/verb.ts';
import { httpOptions, tracingOptions } from '../../options/common-options.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { loadClusterPolicyFiles, PolicyPaths, requireValid } from '../../options/policy-files.ts';
import { runClusterPipeline } from '../../run/cluster.ts';

const { logMaxSize } = eventLogOptions('embedded');

export const verb = defineVerb({
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
