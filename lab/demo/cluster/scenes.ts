import { type Named, nameOf } from '../../../cli/views/cluster/object-text.ts';
import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { Deeds, Owner } from '../../sim/api-server/deeds.ts';
import { CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET, SECRET } from '../../sim/api-server/kinds.ts';

/** A kind of the people who use the cluster. */
export const TENANT: ApiKind = {
  group: 'shop.example',
  version: 'v1',
  kind: 'Tenant',
  resource: 'tenants',
  namespaced: true,
};

/** What a person does, and what FleetGC then has told. */
export interface Scene {
  /** As it would be typed. */
  readonly command: string;
  /** What follows, and why, in sentences. */
  readonly why: readonly string[];
  readonly act: (deeds: Deeds) => void;
  /** By `outcomeOf`. */
  readonly ends: readonly string[];
}

/** One thing that became of one object: `delete Pod shop/web-1`. */
export const outcomeOf = (action: string, object: Named): string =>
  `${action} ${kindName(object)} ${nameOf(object)}`;

const SHOP = 'shop';
const STAGING = 'staging';
const REPLICAS = 3;
const IMAGE = 'registry.example/shop/web:1.4.2';
/** What the controller of Deployments makes of each template. */
const HASHES = { web: '5d9c7b8f6d', api: '7c4b5f9d88', jobs: '6f8d9c7b54' } as const;
type Workload = keyof typeof HASHES;
/** More than the policy lets go with one owner. */
const TENANT_OBJECTS = 30;

const inShop = (kind: ApiKind, name: string): Owner => ({ kind, name: { namespace: SHOP, name } });
const deployment = (name: Workload): Owner => inShop(DEPLOYMENT, name);
const replicaSet = (name: Workload): Owner => inShop(REPLICA_SET, `${name}-${HASHES[name]}`);
const pods = (name: Workload): readonly Owner[] =>
  Array.from({ length: REPLICAS }, (_, index) => inShop(POD, `${name}-${HASHES[name]}-${index + 1}`));
const certificate = inShop(SECRET, 'web-tls');
const copied: Owner = { ...certificate, name: { ...certificate.name, namespace: STAGING } };
export const tenant = inShop(TENANT, 'acme');
const tenantObjects: readonly Owner[] = Array.from({ length: TENANT_OBJECTS }, (_, index) =>
  inShop(index % 2 === 0 ? CONFIG_MAP : SECRET, `acme-${String(index + 1).padStart(2, '0')}`),
);

const end = (action: string, { kind, name }: Owner): string =>
  outcomeOf(action, { group: kind.group, kind: kind.kind, ...name });

/** What is there before anything happens. */
export function furnish(deeds: Deeds): void {
  for (const namespace of [SHOP, STAGING]) deeds.createNamespace(namespace);
  for (const name of ['web', 'api', 'jobs'] as const)
    deeds.deploy({ namespace: SHOP, name, image: IMAGE, replicas: REPLICAS, hash: HASHES[name] });
  deeds.create({ ...certificate, owner: deployment('web'), fields: { type: 'kubernetes.io/tls' } });
  deeds.create(tenant);
  for (const object of tenantObjects) deeds.create({ ...object, owner: tenant });
}

/** In this order. */
export const SCENES: readonly Scene[] = [
  {
    command: `kubectl get secret web-tls -n ${SHOP} -o yaml | sed s/${SHOP}/${STAGING}/ | kubectl create -f -`,
    why: [
      'A Secret is copied to another namespace, and its reference to the Deployment web comes along.',
      'The garbage collector of Kubernetes would delete the copy, since there is no such owner beside it.',
      'FleetGC keeps it (S4).',
    ],
    act: (deeds) => deeds.copy(certificate, STAGING),
    ends: [end('keep', copied)],
  },
  {
    command: `kubectl delete deployment web -n ${SHOP}`,
    why: [
      'The Deployment is gone at once.',
      'What it owned has no owner any more and goes, and then what that owned (D14).',
      'The copy in staging stays.',
    ],
    act: (deeds) => deeds.delete(deployment('web'), 'Background'),
    ends: [replicaSet('web'), certificate, ...pods('web')].map((each) => end('delete', each)),
  },
  {
    command: `kubectl delete deployment api -n ${SHOP} --cascade=foreground`,
    why: [
      'The Deployment waits for its dependents, with a finalizer.',
      'They go first, and FleetGC removes the finalizer when none are left (D17).',
    ],
    act: (deeds) => deeds.delete(deployment('api'), 'Foreground'),
    ends: [...pods('api').map((each) => end('delete', each)), end('finish', deployment('api'))],
  },
  {
    command: `kubectl delete deployment jobs -n ${SHOP} --cascade=orphan`,
    why: [
      'The dependents are to live on.',
      'FleetGC takes their references to the owner away (E1), and then lets the owner go (E3).',
    ],
    act: (deeds) => deeds.delete(deployment('jobs'), 'Orphan'),
    ends: [end('drop-references', replicaSet('jobs')), end('finish', deployment('jobs'))],
  },
  {
    command: `kubectl delete tenant acme -n ${SHOP}`,
    why: [
      `${TENANT_OBJECTS} objects would go with it, more than the policy lets go with one owner.`,
      'It may have been a mistake, so they are held until the deletion is approved (S1).',
    ],
    act: (deeds) => deeds.delete(tenant, 'Background'),
    ends: tenantObjects.map((each) => end('hold', each)),
  },
];
