import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { verbNamed } from '../files.ts';
import { EVERYTHING, rendered } from './helm.ts';
import { ServingContainer, Volume, workloads } from './objects.ts';

const Split = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.array(ServingContainer.extend({ name: z.string() })),
        volumes: z.array(Volume.extend({ emptyDir: z.strictObject({}).optional() })),
      }),
    }),
  }),
});
const made = await rendered({ ...EVERYTHING, node: { split: true } });
const node = Split.parse(made.find(({ kind }) => kind === 'DaemonSet'));
const { containers: split, volumes } = node.spec.template.spec;
const whole = workloads.find(({ kind }) => kind === 'DaemonSet');

const named = (wanted: string) => {
  const found = split.find(({ name }) => name === wanted);
  if (found) return found;
  throw new Error(`there is no container ${wanted}`);
};
const valueIn = (wanted: string, variable: string): string =>
  named(wanted).env.find(({ name }) => name === variable)?.value ?? '';
const mountsOf = (wanted: string, volume: string) =>
  named(wanted).volumeMounts.filter(({ name }) => name === volume);

test('it takes the place of the one container of the node, with its volumes and one more', () => {
  expect(node.metadata).toMatchObject({ name: whole?.metadata.name, namespace: 'fleetgc' });
  expect(split.map(({ name }) => name)).toEqual(['cri-proxy', 'node-agent', 'node-executor']);
  const ofWhole = (whole?.spec.template.spec.volumes ?? []).map(({ name }) => name);
  const known = volumes.map(({ name }) => name);
  expect(known.toSorted()).toEqual([...ofWhole, 'cri'].toSorted());
  for (const { volumeMounts } of split) for (const { name } of volumeMounts) expect(known).toContain(name);
});

test('only the proxy and the executor have the socket of the runtime; the agent has the socket of the proxy', () => {
  expect(mountsOf('node-agent', 'runtime')).toEqual([]);
  const [folder] = mountsOf('cri-proxy', 'cri');
  const offered = verbNamed('cri-proxy').options.find(({ key }) => key === 'proxySocket')?.default ?? '';
  expect(offered.startsWith(`${folder?.mountPath}/`)).toBe(true);
  expect(mountsOf('node-agent', 'cri')).toEqual([{ ...folder, readOnly: true }]);
  expect(valueIn('node-agent', 'FLEETGC_RUNTIME_ENDPOINT')).toBe(`unix://${offered}`);
  for (const other of ['cri-proxy', 'node-executor'])
    expect(valueIn(other, 'FLEETGC_RUNTIME_ENDPOINT')).toBe('unix:///run/containerd/containerd.sock');
});

test('only the executor may write logs', () => {
  for (const volume of ['pod-logs', 'container-logs']) {
    expect(mountsOf('node-agent', volume)).toMatchObject([{ readOnly: true }]);
    expect(mountsOf('node-executor', volume)).toMatchObject([{ readOnly: false }]);
    expect(mountsOf('cri-proxy', volume)).toEqual([]);
  }
});

test('agent and executor know whom to believe, and neither has a key', () => {
  for (const name of ['node-agent', 'node-executor']) {
    expect(mountsOf(name, 'roots')).toEqual(
      whole?.spec.template.spec.containers[0].volumeMounts.filter((mount) => mount.name === 'roots'),
    );
    expect(mountsOf(name, 'roots')).toHaveLength(1);
    expect(mountsOf(name, 'signing')).toEqual([]);
  }
});

test('the proxy has no secret and needs no broker', () => {
  const { envFrom, volumeMounts } = named('cri-proxy');
  expect(envFrom).toEqual([]);
  expect(volumeMounts.map(({ name }) => name)).toEqual(['runtime', 'cri']);
});

describe.each(split.map((container) => ({ name: container.name, container })))(
  '$name',
  ({ name, container }) => {
    const OWN = ['FLEETGC_RUNTIME_ENDPOINT', 'FLEETGC_HTTP_ADDRESS'];

    test('is asked where it listens', () => {
      const standard = verbNamed(name).options.find(({ key }) => key === 'httpAddress')?.default;
      const port = Number(standard?.split(':').at(-1));
      expect(container.args).toEqual([name]);
      expect(valueIn(name, 'FLEETGC_HTTP_ADDRESS')).toBe(standard);
      for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
        expect(probe.httpGet.port).toBe(port);
    });

    test('is set as the whole node is', () => {
      const ofNode = new Map(whole?.spec.template.spec.containers[0].env.map((each) => [each.name, each]));
      for (const each of container.env.filter((variable) => !OWN.includes(variable.name)))
        expect(each).toEqual(ofNode.get(each.name));
      if (name !== 'cri-proxy') expect(container.env).toHaveLength(ofNode.size);
      expect(container.image).toBe(whole?.spec.template.spec.containers[0].image);
    });

    test('has no capability', () => {
      expect(container.securityContext).toMatchObject({
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
    });
  },
);
