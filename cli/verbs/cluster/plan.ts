import { z } from 'zod';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { lookAtCluster } from '../../../services/cluster/ask/look.ts';
import { clusterPlan } from '../../../services/cluster/ask/plan.ts';
import { apiServerOptions } from '../../../services/cluster/cluster-options.ts';
import { openApiServer } from '../../../services/cluster/open-cluster.ts';
import { outputOptions, printResult } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { chosenClusterPolicy, clusterPolicyOptions } from '../../options/policy-files.ts';
import { clusterPlanLines } from '../../views/cluster.ts';

export const verb = defineVerb({
  help: [
    'Lists what the cluster holds, and shows what the collectors would do now, with reasons: what goes and what follows from that, what is held, and what stays of what lacks an owner. The services decide by the same code. Nothing is changed, and nothing is kept.',
    'Lists do not tell how an owner went. So what cluster run would hold or spare because of that (S3, S6) goes here like all else that has no owner.',
    'Exit codes: 0 a plan was made, 1 the API server could not be asked, 2 wrong options or an invalid policy. A kind that cannot be read is named in the plan.',
  ],
  examples: [
    'fleetgc cluster plan --kubeconfig ~/.kube/config --policy clusters.yaml',
    'fleetgc cluster plan --kubeconfig ~/.kube/config --output json',
  ],
  options: z.object({ ...apiServerOptions, ...clusterPolicyOptions, ...outputOptions }),
  run: async (options, { logger, environment, signal, write }) => {
    const record = chosenClusterPolicy(options, logger);
    using server = await openApiServer(options, { environment, sources: systemSources, signal });
    const { clusterInstance, connection } = server;
    const look = await lookAtCluster(
      { connection, nowMs: systemSources.monotonicNow, rules: record.policy.rules ?? [] },
      signal,
    );
    const value = clusterPlan({ look, clusterInstance, record });
    const lines = options.output === 'table' ? clusterPlanLines(value) : [];
    await printResult({ write }, options.output, { value, lines });
  },
});
