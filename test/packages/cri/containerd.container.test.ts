import { randomBytes } from 'node:crypto';
import { createNetwork } from '../../support/network.ts';
import {
  type ContainerdNode,
  PAUSE_IMAGE,
  startContainerdNode,
} from '../../support/nodes/containerd-node.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { type Registry, startRegistry } from '../../support/nodes/registry.ts';
import { killContainer } from '../../support/pods.ts';
import type { NodeRuntime } from '../../support/toolchain/versions.ts';
import type { ContractNode, PulledImage } from './contract/node.ts';
import { readThroughProxy } from './contract/through-proxy.ts';
import { runtimeContract } from './contract.ts';

runtimeContract('containerd 2.4.2', () => contractNode('containerd-2.4.2', 'current'));
runtimeContract('containerd 1.6', () => contractNode('containerd-1.6', 'old'));
runtimeContract('containerd 2.4.2, read through the proxy', async () =>
  readThroughProxy(await contractNode('containerd-2.4.2', 'current')),
);
runtimeContract('containerd 1.6, read through the proxy', async () =>
  readThroughProxy(await contractNode('containerd-1.6', 'old')),
);

async function contractNode(runtime: NodeRuntime, age: ContractNode['age']): Promise<ContractNode> {
  const stack = new AsyncDisposableStack();
  try {
    const network = stack.use(await createNetwork());
    const registry = stack.use(await startRegistry(network));
    const node = stack.use(await startContainerdNode({ runtime, network }));
    return { ...playedOn(node, registry, age), [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

const playedOn = (
  node: ContainerdNode,
  registry: Registry,
  age: ContractNode['age'],
): Omit<ContractNode, typeof Symbol.asyncDispose> => ({
  age,
  endpoint: node.endpoint,
  readingEndpoint: node.endpoint,
  sandboxImage: PAUSE_IMAGE,
  pull: (name) => pulled({ node, registry }, name, { ownBytes: 10_000 }),
  pullSharing: async (names, { baseBytes, ownBytes }) => {
    const base = randomBytes(baseBytes);
    return await Promise.all(names.map((name) => pulled({ node, registry }, name, { ownBytes, base })));
  },
  availableBytes: async () => (await node.disk()).availableBytes,
  importLabelled: (name, labels) => node.importImage({ name: `docker.io/local/${name}:1`, labels }),
  importWithDigest: (name) => node.importImage({ name: `docker.io/local/${name}:1`, withDigest: true }),
  tag: async (reference, another) => {
    await node.exec(['ctr', '-n', 'k8s.io', 'images', 'tag', reference, another]);
  },
  logDirectory: async (pod) => {
    const path = `/var/log/pods/${pod}`;
    await node.exec(['mkdir', '-p', `${path}/main`]);
    return path;
  },
  crash: (containerId) => killContainer(node, containerId),
  killRuntime: node.killContainerd,
  startRuntime: node.startContainerd,
  freeze: node.freeze,
  thaw: node.thaw,
});

async function pulled(
  { node, registry }: { readonly node: ContainerdNode; readonly registry: Registry },
  name: string,
  { ownBytes, base }: { readonly ownBytes: number; readonly base?: Buffer },
): Promise<PulledImage> {
  using workload = connectWorkload(node.endpoint);
  const { reference, id, digest } = await registry.push(`contract/${name}`, '1', ownBytes, base);
  await workload.pullImage(reference);
  return { reference, id, repoDigest: `${reference.replace(/:1$/, '')}@${digest}` };
}
