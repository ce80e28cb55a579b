import type { DiscoveredGroup } from '../../../packages/kube-api/discovery.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import { servedKinds, watchKey } from '../agent/kinds.ts';

/** Who gets rights: the half that reads, the half that removes, or both in one process. */
export const PARTS = ['run', 'agent', 'executor'] as const;
export type Part = (typeof PARTS)[number];

/** A rule of a ClusterRole. */
export type RoleRule =
  | {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly verbs: readonly string[];
      readonly resourceNames?: readonly string[];
    }
  | { readonly nonResourceURLs: readonly string[]; readonly verbs: readonly string[] };

/** What of a policy says which rights are needed. */
export type RightsPolicy = Pick<
  ClusterPolicy,
  'mode' | 'profile' | 'collectors' | 'heldKinds' | 'keep' | 'rules'
>;

export interface WantedRights {
  readonly kinds: KnownKinds;
  readonly policy: RightsPolicy;
  /** Kinds without any right, as `kindName` writes them. */
  readonly without: ReadonlySet<string>;
}

/** With these rules and no others a part can do its work. */
export const rulesFor = (part: Part, wanted: WantedRights): readonly RoleRule[] => [
  ...compact(GRANTS[part].flatMap((grants) => grants(wanted))),
  ...SINGLE[part],
];

/** Which cluster it is tells the uid of a namespace; what is served is no resource. */
const WHICH_CLUSTER: RoleRule = {
  apiGroups: [''],
  resources: ['namespaces'],
  verbs: ['get'],
  resourceNames: ['kube-system'],
};
const WHAT_IS_SERVED: RoleRule = { nonResourceURLs: ['/api', '/apis'], verbs: ['get'] };

/** Replicas of a half take turns by it. Rights to create are never on one name. */
export const leaseRules = (lease: string): readonly RoleRule[] => [
  { ...LEASES, verbs: ['create'] },
  { ...LEASES, verbs: ['get', 'patch'], resourceNames: [lease] },
];
const LEASES = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };

const SINGLE: Readonly<Record<Part, readonly RoleRule[]>> = {
  run: [WHAT_IS_SERVED],
  agent: [WHICH_CLUSTER, WHAT_IS_SERVED],
  executor: [WHAT_IS_SERVED],
};

/** One verb on one resource. */
interface Grant {
  readonly group: string;
  readonly resource: string;
  readonly verb: Verb;
}
type Grants = (wanted: WantedRights) => readonly Grant[];

/** In the order in which they are written. */
const VERBS = ['get', 'list', 'watch', 'patch', 'delete'] as const;
type Verb = (typeof VERBS)[number];

const reading: Grants = (wanted) =>
  kindsOf(wanted, ({ isCollectable }) => isCollectable).flatMap((kind) => [
    grant(kind, 'list'),
    grant(kind, 'watch'),
  ]);

/** Objects before they are changed, and owners of whatever kind. */
const looking: Grants = (wanted) =>
  kindsOf(wanted, ({ isReadable }) => isReadable).map((kind) => grant(kind, 'get'));

const changing: Grants = (wanted) =>
  wanted.policy.mode === 'dry-run'
    ? []
    : [...wanted.policy.collectors.flatMap((collector) => CHANGES[collector](wanted)), ...byRules(wanted)];

const GRANTS: Readonly<Record<Part, readonly Grants[]>> = {
  run: [looking, reading, changing],
  agent: [reading],
  executor: [looking, changing],
};

/** What each collector writes. */
const CHANGES: Readonly<Record<Collector, Grants>> = {
  'garbage-collector-controller': (wanted) =>
    kindsOf(wanted, ({ isCollectable }) => isCollectable).flatMap((kind) => [
      grant(kind, 'patch'),
      ...(mayGo(kind, wanted.policy) ? [grant(kind, 'delete')] : []),
    ]),
  'pod-garbage-collector-controller': (wanted) => {
    const deleting = deletingOf(PODS)(wanted);
    return deleting.length === 0 ? [] : [grant(POD_STATUS, 'patch'), ...deleting];
  },
  'ttl-after-finished-controller': deletingOf({ group: 'batch', kind: 'Job', resource: 'jobs' }),
  'certificatesigningrequest-cleaner-controller': deletingOf({
    group: 'certificates.k8s.io',
    kind: 'CertificateSigningRequest',
    resource: 'certificatesigningrequests',
  }),
  'podcertificaterequest-cleaner-controller': deletingOf({
    group: 'certificates.k8s.io',
    kind: 'PodCertificateRequest',
    resource: 'podcertificaterequests',
  }),
};

const PODS: NamedKind = { group: '', kind: 'Pod', resource: 'pods' };
const POD_STATUS: NamedKind = { ...PODS, resource: 'pods/status' };

type NamedKind = Pick<KindRights, 'group' | 'kind' | 'resource'>;

/** One kind alone. */
function deletingOf(named: NamedKind): Grants {
  return ({ kinds, policy, without }) => {
    const isServed = kinds.some((kind) => kind.group === named.group && kind.resource === named.resource);
    const mayBeDeleted = isServed && !without.has(kindName(named)) && mayGo(named, policy);
    return mayBeDeleted ? [grant(named, 'delete')] : [];
  };
}

const byRules: Grants = (wanted) => {
  const named = new Set((wanted.policy.rules ?? []).flatMap(({ kinds }) => kinds));
  return kindsOf(wanted, (kind) => named.has(kindName(kind)))
    .filter((kind) => mayGo(kind, wanted.policy))
    .map((kind) => grant(kind, 'delete'));
};

/** What is held or kept by its kind is never deleted, so nobody needs the right (cluster S2, S5). */
function mayGo(kind: NamedKind, { profile, heldKinds, keep }: RightsPolicy): boolean {
  if (profile === 'kubernetes') return true;
  return !heldKinds.includes(kindName(kind)) && !keep.kinds.includes(kindName(kind));
}

const kindsOf = (
  { kinds, without }: WantedRights,
  isOne: (kind: KindRights) => boolean,
): readonly KindRights[] => kinds.filter((kind) => isOne(kind) && !without.has(kindName(kind)));

const grant = ({ group, resource }: Pick<KindRights, 'group' | 'resource'>, verb: Verb): Grant => ({
  group,
  resource,
  verb,
});

/** One rule for all resources of a group that have the same verbs. */
function compact(grants: readonly Grant[]): readonly RoleRule[] {
  const resources = Map.groupBy(grants, ({ group, resource }) => JSON.stringify([group, resource]));
  const rights = [...resources.values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [{ ...first, verbs: verbsOf([first, ...more]) }],
  );
  const rules = Map.groupBy(rights, ({ group, verbs }) => JSON.stringify([group, verbs]));
  return [...rules.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    return [
      { apiGroups: [first.group], resources: same.map(({ resource }) => resource), verbs: first.verbs },
    ];
  });
}

const verbsOf = (grants: readonly Grant[]): readonly Verb[] =>
  VERBS.filter((verb) => grants.some((each) => each.verb === verb));

/** A kind as rights are given on it. */
interface KindRights {
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  /** It is listed, watched and deleted (cluster I1). */
  readonly isCollectable: boolean;
  /** Its objects can be asked for one by one. */
  readonly isReadable: boolean;
}
export type KnownKinds = readonly KindRights[];

/** Discovery tells parts of objects beside them, such as `nodes/proxy`: nobody gets a right on one here. */
const isWhole = (resource: string): boolean => /^[a-z0-9.-]+$/.test(resource);

/** Every kind that an API server serves, by group and resource. */
export function discoveredKinds(groups: readonly DiscoveredGroup[]): KnownKinds {
  const { collectable } = servedKinds(groups);
  const kinds = new Map<string, KindRights>();
  for (const { versions } of groups)
    for (const { resources } of versions)
      for (const { group, kind, resource, verbs } of resources) {
        if (!isWhole(resource)) continue;
        const key = watchKey({ group, resource });
        const isReadable = (kinds.get(key)?.isReadable ?? false) || verbs.includes('get');
        kinds.set(key, { group, kind, resource, isCollectable: collectable.has(key), isReadable });
      }
  return [...kinds.values()].toSorted(
    (a, b) => compareText(a.group, b.group) || compareText(a.resource, b.resource),
  );
}
