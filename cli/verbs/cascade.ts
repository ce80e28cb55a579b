import { z } from 'zod';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Text, withMeta } from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { clusterCascade } from '../../services/cluster/ask/cascade.ts';
import { lookAtCluster } from '../../services/cluster/ask/look.ts';
import { apiServerOptions } from '../../services/cluster/cluster-options.ts';
import { openApiServer } from '../../services/cluster/open-cluster.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { defineVerb } from '../framework/verb.ts';
import { chosenClusterPolicy, clusterPolicyOptions } from '../options/policy-files.ts';
import { cascadeLines } from '../views/cluster.ts';

const KindAndName = z.string().transform((text, context): ObjectNamed => {
  const named = objectNamed(text);
  if (named !== null) return named;
  context.addIssue({
    code: 'custom',
    message:
      'must be KIND/NAME or KIND/NAMESPACE/NAME, such as Deployment/web, apps/Deployment/web or apps/Deployment/shop/web',
  });
  return z.NEVER;
});

interface ObjectNamed {
  readonly kind: string;
  /** `null` where the text does not say it. */
  readonly namespace: string | null;
  readonly name: string;
}

/** A kind begins with a capital; what stands before it is its group, and what stands between it and the name a namespace. */
function objectNamed(text: string): ObjectNamed | null {
  const parts = text.split('/');
  const isKind = (part: string | undefined): boolean => /^[A-Z]/.test(part ?? '');
  if (parts.includes('')) return null;
  const [first = '', second = '', third = '', fourth] = parts;
  switch (parts.length) {
    case 2:
      return { kind: first, namespace: null, name: second };
    case 3:
      return isKind(first) || !isKind(second)
        ? { kind: first, namespace: second, name: third }
        : { kind: `${first}/${second}`, namespace: null, name: third };
    case 4:
      return isKind(second) ? { kind: `${first}/${second}`, namespace: third, name: fourth ?? '' } : null;
    default:
      return null;
  }
}

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
      description:
        'The object, or KIND/NAMESPACE/NAME. Of its kind the name, the plural, or either with its group.',
    }),
    namespace: withMeta(Text.optional(), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'Its namespace, where its kind has one and KIND/NAME does not say it. Default: default.',
    }),
    ...apiServerOptions,
    ...clusterPolicyOptions,
    ...outputOptions,
  }),
  run: async ({ object, namespace, ...options }, { logger, environment, signal, write }) => {
    const { kind, name } = object;
    if (object.namespace !== null && (namespace ?? object.namespace) !== object.namespace)
      throw new FleetGcError(
        'USAGE',
        `${kind}/${object.namespace}/${name} is not in --namespace ${namespace}`,
      );
    const asked = { kind, name, namespace: object.namespace ?? namespace ?? 'default' };
    const record = chosenClusterPolicy(options, logger);
    using server = await openApiServer(options, { environment, sources: systemSources, signal });
    const { clusterInstance, connection } = server;
    const look = await lookAtCluster({ connection, nowMs: systemSources.monotonicNow }, signal);
    const value = clusterCascade({ look, clusterInstance, record }, asked);
    const lines = options.output === 'table' ? cascadeLines(value) : [];
    await printResult({ write }, options.output, { value, lines });
  },
});
