import { z } from 'zod';
import { leftOutOf } from '../../../packages/decision/left-out-kinds.ts';
import { type DiscoveredGroup, discover } from '../../../packages/kube-api/discovery.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Text, TextList, withMeta } from '../../../packages/process/options/options.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { accessManifests } from '../../../services/cluster/access/manifests.ts';
import { discoveredKinds, type KnownKinds, PARTS } from '../../../services/cluster/access/rights.ts';
import { apiServerOptions } from '../../../services/cluster/cluster-options.ts';
import { openApiServer } from '../../../services/cluster/open-cluster.ts';
import { manifestOptions } from '../../framework/output.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { chosenClusterPolicy, clusterPolicyOptions } from '../../options/policy-files.ts';
import { manifestText } from '../../views/undo.ts';

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

export const verb = defineVerb({
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
