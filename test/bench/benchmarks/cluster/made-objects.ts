import type { Discovery } from '../../../../packages/kube-api/discovery.ts';

/*
 * Objects as an API server tells them, with all that real ones have: most of an object is what its managers are said to have
 * written.
 */

const NAMESPACES = 40;
const DEPENDENTS_OF_ONE = 10;

const uidOf = (kind: number, number: number): string =>
  `${number.toString(16).padStart(8, '0')}-9d0f-4b5b-9b43-${kind.toString(16).padStart(12, '0')}`;

interface MadeKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid: (number: number) => string;
  readonly name: (number: number) => string;
  /** Of which Deployment it is, in whose namespace it lies. */
  readonly deployment: (number: number) => number;
}

const DEPLOYMENT: MadeKind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  uid: (number) => uidOf(1, number),
  name: (number) => `service-${number}`,
  deployment: (number) => number,
};
const REPLICA_SET: MadeKind = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  uid: (number) => uidOf(2, number),
  name: (number) => `service-${Math.floor(number / DEPENDENTS_OF_ONE)}-${hash(number)}`,
  deployment: (number) => Math.floor(number / DEPENDENTS_OF_ONE),
};
const POD: MadeKind = {
  apiVersion: 'v1',
  kind: 'Pod',
  uid: (number) => uidOf(3, number),
  name: (number) => `${REPLICA_SET.name(Math.floor(number / DEPENDENTS_OF_ONE))}-${hash(number).slice(-5)}`,
  deployment: (number) => Math.floor(number / DEPENDENTS_OF_ONE ** 2),
};

/** A word as controllers make names of. */
const hash = (number: number): string => ((number + 1) * 2_654_435_761).toString(36).slice(-10);

const managedBy = (manager: string, fields: readonly string[]) => ({
  manager,
  operation: 'Update',
  apiVersion: 'apps/v1',
  time: '2026-11-20T10:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: Object.fromEntries(
    fields.map((field) => [`f:${field}`, { '.': {}, 'f:value': {}, 'f:count': {} }]),
  ),
});

const MANAGED = [
  managedBy('kube-controller-manager', [
    'metadata',
    'replicas',
    'selector',
    'template',
    'strategy',
    'labels',
  ]),
  managedBy('controller-status', ['availableReplicas', 'conditions', 'fullyLabeledReplicas', 'observed']),
];

function metadataOf(own: MadeKind, owner: MadeKind | null, number: number, version: number) {
  const family = Math.floor(number / DEPENDENTS_OF_ONE);
  const deployment = own.deployment(number);
  const app = `service-${deployment}`;
  return {
    name: own.name(number),
    namespace: `team-${deployment % NAMESPACES}`,
    uid: own.uid(number),
    resourceVersion: String(version),
    generation: 1,
    creationTimestamp: '2026-11-20T10:00:00Z',
    labels: { app, 'app.kubernetes.io/managed-by': 'Helm', 'pod-template-hash': hash(number) },
    annotations: { 'deployment.kubernetes.io/revision': '3', 'deployment.kubernetes.io/max-replicas': '12' },
    ...(owner !== null && {
      ownerReferences: [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.name(family),
          uid: owner.uid(family),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    }),
    managedFields: MANAGED,
  };
}

/** As metadata alone. */
export const deployment = (number: number, version: number) =>
  partial(metadataOf(DEPLOYMENT, null, number, version));
export const replicaSet = (number: number, version: number) =>
  partial(metadataOf(REPLICA_SET, DEPLOYMENT, number, version));

const partial = (metadata: unknown) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});

/** Whole, as pods are read. */
export function pod(number: number, version: number) {
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:1.4.2`,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: ['REGION', 'STAGE', 'LEVEL'].map((each) => ({ name: each, value: `${each.toLowerCase()}-1` })),
    resources: { limits: { cpu: '1', memory: '512Mi' }, requests: { cpu: '100m', memory: '256Mi' } },
    volumeMounts: [
      { name: 'token', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    livenessProbe: { httpGet: { path: '/livez', port: 8080, scheme: 'HTTP' }, periodSeconds: 10 },
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'IfNotPresent',
  });
  const status = (name: string) => ({
    name,
    state: { running: { startedAt: '2026-11-20T10:00:05Z' } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image: `registry.example.com/team/${name}:1.4.2`,
    imageID: `registry.example.com/team/${name}@sha256:${'5'.repeat(64)}`,
    containerID: `containerd://${hash(number).padStart(64, '0')}`,
    started: true,
  });
  const condition = (type: string) => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: '2026-11-20T10:00:05Z',
  });
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: metadataOf(POD, REPLICA_SET, number, version),
    spec: {
      volumes: [{ name: 'token', projected: { sources: [], defaultMode: 420 } }],
      containers: ['app', 'proxy'].map(container),
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      nodeName: `node-${number % 100}`,
      schedulerName: 'default-scheduler',
      tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }],
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
      hostIP: '10.0.0.1',
      podIP: '10.1.2.3',
      startTime: '2026-11-20T10:00:01Z',
      containerStatuses: ['app', 'proxy'].map(status),
      qosClass: 'Burstable',
    },
  };
}

const resource = (group: string, kind: string, plural: string) => ({
  group,
  version: 'v1',
  kind,
  resource: plural,
  namespaced: true,
  verbs: ['delete', 'get', 'list', 'patch', 'watch'],
});

/** The kinds of these objects, as discovery tells them. */
export const DISCOVERED: Pick<Discovery, 'groups'> = {
  groups: [
    { group: '', versions: [{ version: 'v1', isStale: false, resources: [resource('', 'Pod', 'pods')] }] },
    {
      group: 'apps',
      versions: [
        {
          version: 'v1',
          isStale: false,
          resources: [
            resource('apps', 'Deployment', 'deployments'),
            resource('apps', 'ReplicaSet', 'replicasets'),
          ],
        },
      ],
    },
  ],
};
