import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { CERTIFICATE_REQUEST } from '../../../test/fixtures/certificate.ts';

/** A kind of which histories make objects. */
export interface PlayedKind extends ApiKind {
  /** Every version that is served, the preferred one first: references may name any of them (cluster H5). */
  readonly versions: readonly string[];
  /** An API server deletes it so if nobody says how. */
  readonly orphansByDefault: boolean;
  /** All that the API server wants of such an object beside its metadata. */
  readonly body: Readonly<Record<string, unknown>> & { readonly spec?: Readonly<Record<string, unknown>> };
}

/** Groups of the definitions that an arena makes. */
export const SHOP = 'shop.compare.fleetgc.io';
const DEPOT = 'depot.compare.fleetgc.io';
/** A group whose server is not there. */
export const FAILING = 'failing.compare.fleetgc.io';
/** A group of which nobody has heard. */
export const UNKNOWN = 'unknown.compare.fleetgc.io';

const LABELS = { compare: 'yes' };
const POD = {
  metadata: { labels: LABELS },
  spec: { containers: [{ name: 'main', image: 'none' }], restartPolicy: 'Never' },
};
const LONG_LIVED = { ...POD, spec: { ...POD.spec, restartPolicy: 'Always' } };
const SELECTOR = { matchLabels: LABELS };

type Given = Pick<ApiKind, 'group' | 'kind' | 'resource'> & Partial<PlayedKind>;
const played = (given: Given): PlayedKind => ({
  version: 'v1',
  namespaced: true,
  versions: ['v1'],
  orphansByDefault: false,
  body: {},
  ...given,
});

const core = (kind: string, resource: string, more: Partial<PlayedKind> = {}): PlayedKind =>
  played({ group: '', kind, resource, ...more });

export const KINDS = {
  configMap: core('ConfigMap', 'configmaps'),
  secret: core('Secret', 'secrets'),
  serviceAccount: core('ServiceAccount', 'serviceaccounts'),
  pod: core('Pod', 'pods', { body: { spec: POD.spec } }),
  replicationController: core('ReplicationController', 'replicationcontrollers', {
    orphansByDefault: true,
    body: { spec: { replicas: 0, selector: LABELS, template: LONG_LIVED } },
  }),
  replicaSet: played({
    group: 'apps',
    kind: 'ReplicaSet',
    resource: 'replicasets',
    body: { spec: { replicas: 0, selector: SELECTOR, template: LONG_LIVED } },
  }),
  deployment: played({
    group: 'apps',
    kind: 'Deployment',
    resource: 'deployments',
    body: { spec: { replicas: 0, selector: SELECTOR, template: LONG_LIVED } },
  }),
  job: played({
    group: 'batch',
    kind: 'Job',
    resource: 'jobs',
    orphansByDefault: true,
    body: { spec: { template: { spec: POD.spec } } },
  }),
  lease: played({ group: 'coordination.k8s.io', kind: 'Lease', resource: 'leases' }),
  clusterRole: played({
    group: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    resource: 'clusterroles',
    namespaced: false,
  }),
  priorityClass: played({
    group: 'scheduling.k8s.io',
    kind: 'PriorityClass',
    resource: 'priorityclasses',
    namespaced: false,
    body: { value: 1 },
  }),
  widget: played({ group: SHOP, kind: 'Widget', resource: 'widgets', versions: ['v1', 'v1beta1'] }),
  /** One kind in two groups. */
  depotWidget: played({ group: DEPOT, kind: 'Widget', resource: 'widgets' }),
  /** And one that is called as one of the core group. */
  depotConfigMap: played({ group: DEPOT, kind: 'ConfigMap', resource: 'configmaps' }),
  gadget: played({ group: SHOP, kind: 'Gadget', resource: 'gadgets', namespaced: false }),
  node: core('Node', 'nodes', { namespaced: false }),
  certificateRequest: played({
    group: 'certificates.k8s.io',
    kind: 'CertificateSigningRequest',
    resource: 'certificatesigningrequests',
    namespaced: false,
    body: {
      spec: {
        request: Buffer.from(CERTIFICATE_REQUEST).toString('base64'),
        signerName: 'compare.fleetgc.io/nobody',
        usages: ['client auth'],
      },
    },
  }),
} as const satisfies Record<string, PlayedKind>;

export type KindId = keyof typeof KINDS;
const KIND_IDS = Object.keys(KINDS).filter((id): id is KindId => Object.hasOwn(KINDS, id));
/** Kinds of graphs: nobody owns the others, and they own nobody. */
export const OWNED_KIND_IDS: readonly KindId[] = KIND_IDS.filter(
  (id) => id !== 'node' && id !== 'certificateRequest',
);
export const kindOf = (id: KindId): PlayedKind => KINDS[id];

export const apiVersionOf = (group: string, version: string): string =>
  group === '' ? version : `${group}/${version}`;

/** The kind that a reference names; `null` for what is not served. */
export function servedKind(apiVersion: string, kind: string): PlayedKind | null {
  const all: readonly PlayedKind[] = Object.values(KINDS);
  const found = all.find(
    (each) =>
      each.kind === kind && each.versions.some((version) => apiVersionOf(each.group, version) === apiVersion),
  );
  return found ?? null;
}

/** Kinds that an arena has to define. */
export const DEFINED: readonly PlayedKind[] = Object.values(KINDS).filter(
  ({ group }) => group === SHOP || group === DEPOT,
);
