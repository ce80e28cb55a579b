import { dirname } from 'node:path';
import { DaemonSet, Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
} from 'kubernetes-models/rbac.authorization.k8s.io/v1';
import { ConfigMap, Service, ServiceAccount } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { ClusterDeciderName } from '../../../schemas/events/deciders.ts';
import { accountOf } from '../../../services/cluster/access/manifests.ts';
import { STATE_DIRECTORY } from '../../../services/cluster/cluster-options.ts';
import { rulesIn } from '../../../services/notices/rules-file.ts';
import { textOf, verbNamed } from '../files.ts';
import { objects, operatorPod, type Workload, workloads } from './objects.ts';

const KINDS = {
  DaemonSet,
  Deployment,
  StatefulSet,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  ConfigMap,
  Service,
  ServiceAccount,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
} as const;
const Kind = z.enum([
  'DaemonSet',
  'Deployment',
  'StatefulSet',
  'Job',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'ConfigMap',
  'Service',
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
]);

/** A real API server judges it: `test/services/cluster/policy-controller/real-cluster.world.test.ts`. */
const DEFINITION = 'CustomResourceDefinition';

test.each(objects.filter(({ kind }) => kind !== DEFINITION))(
  'the $kind $metadata.name is a valid object',
  (object) => {
    const model = new KINDS[Kind.parse(object.kind)](JSON.parse(JSON.stringify(object)));
    expect(() => model.validate()).not.toThrow();
  },
);

test.each(objects)(
  'the $kind $metadata.name says whose it is, and lies in the namespace of the release',
  (object) => {
    expect(object.metadata.labels).toMatchObject({
      'app.kubernetes.io/name': 'fleetgc',
      'app.kubernetes.io/instance': 'fleetgc',
      'app.kubernetes.io/managed-by': 'Helm',
    });
    const isOfAll = object.kind.startsWith('Cluster') || object.kind === DEFINITION;
    expect(object.metadata.namespace).toBe(isOfAll ? undefined : 'fleetgc');
  },
);

const operatorContainers = operatorPod.flatMap(({ initContainers, containers }) => [
  ...initContainers,
  ...containers,
]);
const pods = [...workloads.map(({ spec }) => spec.template.spec), ...operatorPod];

test('every ConfigMap that a pod names is there, and none beside', () => {
  const made = objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
  const used = [
    ...[...workloads.map(container), ...operatorContainers].flatMap(({ envFrom }) =>
      envFrom.map(({ configMapRef }) => configMapRef.name),
    ),
    ...pods.flatMap(({ volumes }) => volumes.flatMap(({ configMap }) => configMap?.name ?? [])),
  ];
  expect([...new Set(used)].toSorted()).toEqual(made.toSorted());
});

test("the operator's Job makes the topics, publishes keys, then applies a policy that is valid and removes nothing", () => {
  const commands = operatorContainers.map(({ args }) => args);
  const text = textOf('deploy/helm/policy.yaml');
  const read = readPolicyFiles([{ file: 'policy.yaml', text }]);

  expect(commands).toEqual([
    ['topics', 'create', '--wait', '60s'],
    ['keys', 'publish', '/etc/fleetgc/statements/keys.statements'],
    ['policy', 'apply', '/etc/fleetgc/policy/policy.yaml'],
  ]);
  for (const [first = '', second = ''] of commands) verbNamed(`${first} ${second}`);
  expect(read).toMatchObject({ valid: true, policies: [{ policy: { mode: 'dry-run' } }] });
});

test('nodes, clusters, deciders, operators, policy controllers, readers and notifiers are seven principals: each has its own Secrets and no other, and only deciders, operators and policy controllers have a key', () => {
  const secretsOf = (
    volumes: readonly { readonly secret?: { readonly secretName: string } | undefined }[],
    containers: readonly Pick<ReturnType<typeof container>, 'env'>[],
  ): readonly string[] => [
    ...volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ...containers.flatMap(({ env }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [])),
  ];
  const principalOf = (secrets: readonly string[]): string => [...new Set(secrets)].join(', ');
  const found = workloads.map((workload) => [
    workload.metadata.name,
    principalOf(secretsOf(workload.spec.template.spec.volumes, [container(workload)])),
  ]);
  const operators = operatorPod.map(({ volumes, initContainers, containers }) =>
    principalOf(secretsOf(volumes, [...initContainers, ...containers])),
  );

  expect(Object.fromEntries(found)).toEqual({
    'fleetgc-pressure': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-container-gc': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-image-gc': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-graph-gc': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-expiry-gc': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-pod-gc': 'fleetgc-kafka-deciders, fleetgc-signing-deciders',
    'fleetgc-cluster-agent': 'fleetgc-kafka-clusters',
    'fleetgc-cluster-executor': 'fleetgc-kafka-clusters',
    'fleetgc-node': 'fleetgc-kafka-nodes',
    'fleetgc-policy-controller': 'fleetgc-kafka-policy-controllers, fleetgc-signing-policy-controllers',
    'fleetgc-dashboard': 'fleetgc-dashboard-tokens, fleetgc-kafka-readers',
    'fleetgc-notify': 'fleetgc-notify-receivers, fleetgc-kafka-notifiers',
  });
  expect(operators).toEqual(['fleetgc-kafka-operators, fleetgc-signing-operators']);
});

const container = ({ spec }: Workload) => spec.template.spec.containers[0];
const variable = (workload: Workload, name: string): string | undefined =>
  container(workload).env.find((each) => each.name === name)?.value;

describe.each(workloads.map((workload) => ({ name: workload.metadata.name, workload })))(
  '$name',
  ({ workload }) => {
    const { args, startupProbe, livenessProbe, readinessProbe, ports, volumeMounts } = container(workload);
    const pod = workload.spec.template.spec;
    const verb = verbNamed(args.join(' '));

    test('selects its own pods', () => {
      expect(workload.spec.template.metadata.labels).toEqual(workload.spec.selector.matchLabels);
    });

    test('is probed where it listens', () => {
      const probed = verb.name === 'dashboard' ? 'FLEETGC_PROBE_ADDRESS' : 'FLEETGC_HTTP_ADDRESS';
      const listens = Number(variable(workload, probed)?.split(':').at(-1));
      const named = ports.find(({ name }) => name === livenessProbe.httpGet.port)?.containerPort;
      expect(named ?? livenessProbe.httpGet.port).toBe(listens);
      expect(livenessProbe.httpGet.path).toBe('/livez');
      expect(readinessProbe.httpGet).toMatchObject({ path: '/readyz', port: livenessProbe.httpGet.port });
    });

    test('has five minutes to start before it is asked whether it lives', () => {
      expect(startupProbe.httpGet).toEqual(livenessProbe.httpGet);
      expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(300);
    });

    test('has no capability, a read-only image and the system calls that the runtime allows; root is the node alone', () => {
      const { securityContext } = container(workload);
      const seccomp = securityContext.seccompProfile ?? pod.securityContext?.seccompProfile;
      expect(securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(seccomp).toEqual({ type: 'RuntimeDefault' });
      expect(securityContext.runAsUser ?? pod.securityContext?.runAsUser).toBe(
        verb.name === 'node' ? 0 : 1000,
      );
    });

    test('has time to finish what it has in hand', () => {
      expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(verb.shutdownLimitMs);
    });

    test('mounts what it has, and nothing else', () => {
      const claimed = workload.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name);
      expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(
        [...pod.volumes.map(({ name }) => name), ...claimed].toSorted(),
      );
    });

    test('has an account of its own only where it asks the API server or the kubelet', () => {
      const isOfCluster = verb.name.startsWith('cluster ') || verb.name === 'policy-controller';
      expect(pod.automountServiceAccountToken).toBe(isOfCluster);
      const account = {
        node: 'fleetgc-node',
        agent: 'fleetgc-cluster-agent',
        executor: 'fleetgc-cluster-executor',
        'policy-controller': 'fleetgc-policy-controller',
      };
      const named = new Map(Object.entries(account)).get(args.at(-1) ?? '');
      expect(pod.serviceAccountName).toBe(named);
    });
  },
);

describe('the dashboard', () => {
  const dashboard = workloads.find(({ metadata }) => metadata.name === 'fleetgc-dashboard');
  if (!dashboard) throw new Error('there is no dashboard');
  const { volumeMounts, args } = container(dashboard);
  const writable = volumeMounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath);

  test('only looks, and whoever looks has to sign in', () => {
    const { defaultMode, secretName, optional } =
      dashboard.spec.template.spec.volumes.find(({ name }) => name === 'tokens')?.secret ?? {};
    const tokens = volumeMounts.find(({ name }) => name === 'tokens')?.mountPath;
    expect(args).toEqual(['dashboard']);
    expect(variable(dashboard, 'FLEETGC_ALLOW_ACTIONS')).toBeUndefined();
    expect(variable(dashboard, 'FLEETGC_TRUST')).toBe('off');
    expect(variable(dashboard, 'FLEETGC_TOKEN_FILE')).toBe(`${tokens}/tokens`);
    expect({ secretName, optional, defaultMode }).toEqual({
      secretName: 'fleetgc-dashboard-tokens',
      optional: false,
      defaultMode: 0o440,
    });
  });

  test('writes to its tables and to nothing else', () => {
    expect(writable).toEqual(['/var/lib/fleetgc']);
    expect(dirname(variable(dashboard, 'FLEETGC_PROJECTION') ?? '')).toBe('/var/lib/fleetgc');
  });

  test('is found by the service that has its name', () => {
    const service = objects.find(({ kind }) => kind === 'Service');
    expect(service).toMatchObject({
      metadata: { name: dashboard.metadata.name },
      spec: { selector: dashboard.spec.selector.matchLabels, ports: [{ port: 9660, targetPort: 'page' }] },
    });
  });
});

test('the notices of the files have rules that are valid, and every file that they name comes from their Secret', () => {
  const read = rulesIn(textOf('deploy/helm/notices.yaml'));
  const notify = workloads.find(({ metadata }) => metadata.name === 'fleetgc-notify');
  if (!read.ok || !notify) throw new Error('there are no rules');
  const files = read.rules.receivers.flatMap((receiver) => ('urlFile' in receiver ? [receiver.urlFile] : []));
  expect(files).toEqual(['/etc/fleetgc/receivers/chat-url']);
  expect(container(notify).volumeMounts).toContainEqual({
    name: 'receivers',
    mountPath: '/etc/fleetgc/receivers',
    readOnly: true,
  });
  expect(variable(notify, 'FLEETGC_RULES')).toBe('/etc/fleetgc/notices/notices.yaml');
});

/** It has every pod's secrets, and the kubelet's own keys. */
const KUBELET = '/var/lib/kubelet';

describe('the node', () => {
  const node = workloads.filter(({ kind }) => kind === 'DaemonSet')[0];
  if (!node) throw new Error('there is no DaemonSet');
  const { volumeMounts } = container(node);
  const mountFor = (path: string) =>
    volumeMounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`));
  const standard = (key: string): string =>
    verbNamed('node').options.find((option) => option.key === key)?.default ?? '';

  test('sees each path of the host where the host has it', () => {
    for (const { name, hostPath } of node.spec.template.spec.volumes) {
      if (!hostPath) continue;
      expect(volumeMounts.find((mount) => mount.name === name)?.mountPath).toBe(hostPath.path);
    }
  });

  test.each(['stateDirectory', 'podLogsDir', 'containerLogsDir'])('may write to its %s', (key) => {
    expect(mountFor(standard(key))).toMatchObject({ readOnly: false });
  });

  test('reaches the socket, the machine id and every file that its variables name', () => {
    const socket = variable(node, 'FLEETGC_RUNTIME_ENDPOINT')?.replace('unix://', '') ?? '';
    const files = container(node).env.flatMap(({ name, value }) =>
      name.endsWith('_FILE') && value ? [value] : [],
    );
    expect(files.length).toBeGreaterThan(0);
    for (const path of [socket, standard('machineIdFile'), ...files])
      expect(mountFor(path), path).toBeDefined();
  });

  test("sees of the kubelet's directory its certificate, and an empty folder of our own to measure its filesystem", () => {
    const ofKubelet = volumeMounts.filter(
      ({ mountPath }) => KUBELET.startsWith(`${mountPath}/`) || `${mountPath}/`.startsWith(`${KUBELET}/`),
    );
    const paths = ofKubelet.map(({ mountPath }) => mountPath);

    expect(paths.toSorted()).toEqual([`${KUBELET}/fleetgc`, `${KUBELET}/pki/kubelet.crt`]);
    expect(ofKubelet.every(({ readOnly }) => readOnly)).toBe(true);
    expect(paths).toContain(variable(node, 'FLEETGC_NODEFS_PATH'));
  });

  test('asks the kubelet for pods, with a token that may do that and no more', () => {
    const role = objects.find(({ kind }) => kind === 'ClusterRole');
    const account = objects.find(({ kind }) => kind === 'ServiceAccount');
    const binding = objects.find(({ kind }) => kind === 'ClusterRoleBinding');

    expect(variable(node, 'FLEETGC_KUBELET_URL')).toBe('https://127.0.0.1:10250');
    expect(node.spec.template.spec.hostNetwork).toBe(true);
    expect(role?.rules).toEqual([{ apiGroups: [''], resources: ['nodes/pods'], verbs: ['get'] }]);
    expect(binding).toMatchObject({
      roleRef: { name: 'fleetgc-node' },
      subjects: [{ kind: 'ServiceAccount', name: 'fleetgc-node', namespace: 'fleetgc' }],
    });
    expect(account).toMatchObject({ metadata: { name: node.spec.template.spec.serviceAccountName } });
  });
});

describe('a cluster', () => {
  const named = (name: string): Workload => {
    const found = workloads.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };

  test('has a decision service for each that decides about clusters', () => {
    for (const decider of ClusterDeciderName.options)
      expect(container(named(`fleetgc-${decider}`)).args).toEqual([decider]);
  });

  test('has accounts by the names that the printed rights give them', () => {
    for (const part of ['agent', 'executor'] as const) {
      const { spec } = named(`fleetgc-cluster-${part}`).spec.template;
      expect(spec.serviceAccountName).toBe(accountOf(part));
    }
  });

  test('has an executor whose replicas each keep their state over restarts', () => {
    const executor = named('fleetgc-cluster-executor');
    expect(executor.kind).toBe('StatefulSet');
    const { volumeMounts } = container(executor);
    expect(volumeMounts).toContainEqual({ name: 'state', mountPath: STATE_DIRECTORY, readOnly: false });
  });
});

const Placed = z.object({
  spec: z.object({
    template: z.object({ spec: z.object({ nodeSelector: z.record(z.string(), z.string()).optional() }) }),
  }),
});

test.each(objects.filter((object) => Placed.safeParse(object).success))(
  'the $kind $metadata.name runs on nodes with Linux alone: the image has no other programs',
  (object) => {
    const { nodeSelector } = Placed.parse(object).spec.template.spec;
    expect(nodeSelector).toMatchObject({ 'kubernetes.io/os': 'linux' });
  },
);
