import { z } from 'zod';
import { leftOutOf } from '../../packages/decision/left-out-kinds.ts';
import type { DiscoveredGroup } from '../../packages/kube-api/discovery.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Text, TextList, withMeta } from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import { COLLECTOR_ACCOUNT, guardManifests } from '../../services/cluster/access/guard.ts';
import { discoveredKinds, type KnownKinds, PARTS } from '../../services/cluster/access/rights.ts';
import { apiServerOptions } from '../../services/cluster/cluster-options.ts';
import {
  manifestOptions,
  objectOptions,
  outputOptions,
  printObjects,
  printResult,
} from '../framework/output.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { clusterPolicyOptions } from '../options/policy-options.ts';

export const planVerb = defineVerb({
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
    const { chosenClusterPolicy } = await import('../framework/policy-files.ts');
    const { openApiServer } = await import('../../services/cluster/open-cluster.ts');
    const { clusterPlanLines } = await import('../../packages/documents/cluster.ts');
    const { lookAtCluster } = await import('../../services/cluster/ask/look.ts');
    const { clusterPlan } = await import('../../services/cluster/ask/plan.ts');
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

export const cascadeVerb = defineVerb({
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
    const { chosenClusterPolicy } = await import('../framework/policy-files.ts');
    const { openApiServer } = await import('../../services/cluster/open-cluster.ts');
    const { cascadeLines } = await import('../../packages/documents/cluster.ts');
    const { lookAtCluster } = await import('../../services/cluster/ask/look.ts');
    const { clusterCascade } = await import('../../services/cluster/ask/cascade.ts');
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

export const leftoversVerb = defineVerb({
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
    const { openApiServer } = await import('../../services/cluster/open-cluster.ts');
    const { leftoverLines, leftoverNames } = await import('../../packages/documents/cluster.ts');
    const { clusterLeftovers } = await import('../../services/cluster/ask/leftovers.ts');
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

const { kubeconfig, context } = apiServerOptions;

const RbacOptions = z.object({
  part: withMeta(z.enum(PARTS).prefault('run'), {
    commandLineOnly: true,
    description: 'For whom: cluster run, or one of its halves where they run apart.',
  }),
  kubeconfig: withMeta(kubeconfig, {
    placeholder: 'FILE|in-cluster',
    description: 'Asks this API server what it serves: the role names each kind, and none by a wildcard.',
  }),
  context,
  ...clusterPolicyOptions,
  without: withMeta(TextList.prefault(''), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'KIND,…',
    description: 'Kinds on which no right is given, such as ConfigMap or apps/ReplicaSet.',
  }),
  with: withMeta(TextList.prefault(''), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'KIND,…|all',
    description:
      'Kinds that are left out by default and get rights all the same, such as Secret; all for each of them.',
  }),
  namespace: withMeta(Text.prefault('kube-system'), {
    commandLineOnly: true,
    placeholder: 'NAME',
    description: 'Namespace of the service account.',
  }),
  ...manifestOptions,
});
type RbacOptions = z.infer<typeof RbacOptions>;

export const rbacVerb = defineVerb({
  help: [
    'Prints what cluster run needs to work, and no more: a service account, its role and binding, and a ValidatingAdmissionPolicy that lets the account write nothing but owner references, finalizers, and conditions, phase and observed generation of pods. Nothing is changed: kubectl apply -f - puts it into force.',
    'The role names each kind, so that kinds that the policy holds or keeps cannot be deleted. A kind that is installed later is reported with the rule that is missing: print and apply again.',
    'By default the role has no right on Secrets, and none on the groups rbac.authorization.k8s.io, admissionregistration.k8s.io and apiregistration.k8s.io: objects of these kinds, and what they own, are kept. Kubernetes has no right to metadata alone: an account that may list Secrets reads them. --with names the kinds that you want collected all the same.',
    'With a policy in dry-run no right to change anything is given.',
  ],
  examples: [
    'fleetgc cluster rbac --kubeconfig ~/.kube/config --policy clusters.yaml | kubectl apply -f -',
    'fleetgc cluster rbac --kubeconfig ~/.kube/config --policy clusters.yaml --with Secret',
    'fleetgc cluster rbac --kubeconfig ~/.kube/config --part agent --output json',
  ],
  options: RbacOptions,
  run: async (options, verbContext) => {
    const { chosenClusterPolicy } = await import('../framework/policy-files.ts');
    const { manifestText } = await import('../run/manifests.ts');
    const { accessManifests } = await import('../../services/cluster/access/manifests.ts');
    const { part, namespace, output } = options;
    const { policy } = chosenClusterPolicy(options, verbContext.logger);
    const kinds = await kindsFor(options, verbContext);
    const byDefault = leftOutOf(kinds);
    const asked = new Set(options.with.includes(ALL) ? byDefault : options.with);
    requireKnown([...asked, ...options.without], kinds);
    const without = new Set([...options.without, ...leftOutOf(kinds, asked)]);
    const manifests = accessManifests(part, namespace, { kinds, policy, without });
    await verbContext.write(`${manifestText(output, manifests, remarksOn(policy, without))}\n`);
  },
});

async function kindsFor(options: RbacOptions, { environment, signal }: VerbContext): Promise<KnownKinds> {
  const { openApiServer } = await import('../../services/cluster/open-cluster.ts');
  const { discover } = await import('../../packages/kube-api/discovery.ts');
  using server = await openApiServer(
    { kubeconfig: options.kubeconfig, context: options.context },
    { environment, sources: systemSources, signal },
  );
  const groups = (await discover(server.connection, null))?.groups ?? [];
  requireWhole(groups);
  return discoveredKinds(groups);
}

/** Rights on half of the kinds would look like all of them. */
function requireWhole(groups: readonly DiscoveredGroup[]): void {
  const failed = groups.filter(({ versions }) => versions.some(({ isStale }) => isStale));
  if (failed.length === 0) return;
  throw new FleetGcError(
    'API_REFUSED',
    `the API server cannot tell now what these groups have: ${failed.map(({ group }) => group).join(', ')}. Try again when whoever serves them is back`,
  );
}

function requireKnown(named: readonly string[], kinds: KnownKinds): void {
  const names = new Set(kinds.map(kindName));
  const unknown = named.filter((kind) => !names.has(kind));
  if (unknown.length > 0)
    throw new FleetGcError(
      'NOT_FOUND',
      `the API server serves no such kind: ${unknown.join(', ')}. Kinds are written as Secret or apps/ReplicaSet`,
    );
}

/** In place of names, which begin with a capital letter. */
const ALL = 'all';

const remarksOn = ({ name, mode }: ClusterPolicy, without: ReadonlySet<string>): readonly string[] => [
  `Rights for policy ${name}, mode ${mode}, as fleetgc cluster rbac prints them.`,
  ...(without.size === 0 ? [] : [`Without any right on: ${[...without].join(', ')}.`]),
];

export const guardVerb = defineVerb({
  help: [
    "Prints a ValidatingAdmissionPolicy for clusters in which the collector of kube-controller-manager cannot be switched off. It denies that collector the deletion of the policy's heldKinds, of what is on its keep list, and of what has the annotation fleetgc.io/keep, itself or its namespace. Nothing is changed: kubectl apply -f - puts it into force.",
    'It sees one object at a time. So it holds no wide cascade, and knows nothing of how an owner went (S1, S3, S4, S6). It works only where kube-controller-manager runs with --use-service-account-credentials; docs/operating/clusters.md says how to see that.',
  ],
  examples: [
    'fleetgc cluster guard --policy clusters.yaml | kubectl apply -f -',
    'fleetgc cluster guard --policy clusters.yaml --cluster prod --output json',
  ],
  options: z.object({
    ...clusterPolicyOptions,
    user: withMeta(TextList.prefault(COLLECTOR_ACCOUNT), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'USER,…',
      description: 'Whom deletions are denied, as the API server knows the user.',
    }),
    ...manifestOptions,
  }),
  run: async ({ user, output, ...choice }, { logger, write }) => {
    const { chosenClusterPolicy } = await import('../framework/policy-files.ts');
    const { manifestText } = await import('../run/manifests.ts');
    const { policy } = chosenClusterPolicy(choice, logger);
    const remark = `Denies ${user.join(', ')} the deletion of what policy ${policy.name} holds by kind or keeps.`;
    await write(`${manifestText(output, guardManifests(user, policy), [remark])}\n`);
  },
});
