import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DaemonSet, Deployment } from 'kubernetes-models/apps/v1';
import { ClusterRole, ClusterRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1';
import { ConfigMap, Namespace, ServiceAccount } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { manifests, REPOSITORY, textOf, verbNamed, type Workload, workloads } from './files.ts';

const KINDS = {
  DaemonSet,
  Deployment,
  ConfigMap,
  Namespace,
  ServiceAccount,
  ClusterRole,
  ClusterRoleBinding,
} as const;
const Kind = z.enum([
  'DaemonSet',
  'Deployment',
  'ConfigMap',
  'Namespace',
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
]);

test.each(manifests)('$file: the $content.kind is a valid object', ({ content }) => {
  const model = new KINDS[Kind.parse(content.kind)](JSON.parse(JSON.stringify(content)));
  expect(() => model.validate()).not.toThrow();
});

test('one command applies every file', () => {
  const { resources } = z
    .object({ resources: z.array(z.string()) })
    .parse(parse(textOf('deploy/kubernetes/kustomization.yaml')));
  const files = readdirSync(join(REPOSITORY, 'deploy/kubernetes'));
  expect([...resources, 'kustomization.yaml'].toSorted()).toEqual(files.toSorted());
});

const container = ({ spec }: Workload) => spec.template.spec.containers[0];
const variable = (workload: Workload, name: string): string | undefined =>
  container(workload).env.find((each) => each.name === name)?.value;

describe.each(workloads.map((workload) => ({ name: workload.metadata.name, workload })))(
  '$name',
  ({ workload }) => {
    const { args, livenessProbe, readinessProbe, ports, volumeMounts } = container(workload);
    const pod = workload.spec.template.spec;
    const verb = verbNamed(args.join(' '));

    test('selects its own pods', () => {
      expect(workload.spec.template.metadata.labels).toEqual(workload.spec.selector.matchLabels);
    });

    test('is probed where it listens', () => {
      const listens = Number(variable(workload, 'FLEETGC_HTTP_ADDRESS')?.split(':').at(-1));
      const named = ports.find(({ name }) => name === livenessProbe.httpGet.port)?.containerPort;
      expect(named ?? livenessProbe.httpGet.port).toBe(listens);
      expect(livenessProbe.httpGet.path).toBe('/livez');
      expect(readinessProbe.httpGet).toMatchObject({ path: '/readyz', port: livenessProbe.httpGet.port });
    });

    test('has time to finish what it has in hand', () => {
      expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(verb.shutdownLimitMs);
    });

    test('mounts what it has, and nothing else', () => {
      expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(
        pod.volumes.map(({ name }) => name).toSorted(),
      );
    });
  },
);

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

  test('asks the kubelet for pods, with a token that may do that and no more', () => {
    const role = manifests.find(({ content }) => content.kind === 'ClusterRole')?.content;
    const account = manifests.find(({ content }) => content.kind === 'ServiceAccount')?.content;
    const binding = manifests.find(({ content }) => content.kind === 'ClusterRoleBinding')?.content;

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
