import { z } from 'zod';
import { Text, withMeta } from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { apiServerOptions } from '../../services/cluster/cluster-options.ts';
import { openApiServer } from '../../services/cluster/open-cluster.ts';
import { clusterCascade } from '../../services/cluster-plan/cascade.ts';
import { lookAtCluster } from '../../services/cluster-plan/look.ts';
import { formatResult, outputOptions } from '../framework/output.ts';
import { defineVerb } from '../framework/verb.ts';
import { chosenClusterPolicy, clusterPolicyOptions } from '../options/cluster-policy-options.ts';
import { cascadeLines } from '../views/cluster/cascade-lines.ts';

const KindAndName = z
  .string()
  .regex(/^.+\/[^/]+$/, { error: 'must be KIND/NAME, such as Deployment/web or apps/Deployment/web' })
  .transform((text) => {
    const slash = text.lastIndexOf('/');
    return { kind: text.slice(0, slash), name: text.slice(slash + 1) };
  });

export const verb = defineVerb({
  help: [
    'Shows what the deletion of one object would take along, in each way to delete it (kubectl delete --cascade=background, foreground, orphan): what goes, what waits for which finalizers, what FleetGC would hold, and what stays and why. Nothing is changed.',
    'It lists what the cluster holds and lets the decision service decide, step by step, as if it ran. With a Namespace or a CustomResourceDefinition goes what lies in it, whoever owns that. What others do by themselves, such as operators and finalizers, nobody can tell beforehand.',
    'Exit codes: 0 it was told, 1 there is no such object or the API server could not be asked, 2 wrong options.',
  ],
  examples: [
    'fleetgc cascade Deployment/web --kubeconfig ~/.kube/config --namespace shop',
    'fleetgc cascade deployments.apps/web --kubeconfig ~/.kube/config --policy clusters.yaml --output json',
    'fleetgc cascade Namespace/shop --kubeconfig ~/.kube/config',
  ],
  options: z.object({
    object: withMeta(KindAndName, {
      positional: true,
      placeholder: 'KIND/NAME',
      description: 'The object. Of its kind the name, the plural, or either with its group.',
    }),
    namespace: withMeta(Text.prefault('default'), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'Its namespace, where its kind has one.',
    }),
    ...apiServerOptions,
    ...clusterPolicyOptions,
    ...outputOptions,
  }),
  run: async ({ object, namespace, ...options }, { logger, environment, signal, write }) => {
    const record = chosenClusterPolicy(options, logger);
    using server = await openApiServer(options, { environment, sources: systemSources, signal });
    const { clusterInstance, connection } = server;
    const look = await lookAtCluster({ connection, nowMs: systemSources.monotonicNow }, signal);
    const value = clusterCascade({ look, clusterInstance, record }, { ...object, namespace });
    const lines = options.output === 'table' ? cascadeLines(value) : [];
    await write(`${formatResult(options.output, { value, lines })}\n`);
  },
});
