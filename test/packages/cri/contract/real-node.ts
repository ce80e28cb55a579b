import { randomBytes } from 'node:crypto';
import { createNetwork } from '../../../support/network.ts';
import { connectWorkload } from '../../../support/nodes/cri-workload.ts';
import { ctr } from '../../../support/nodes/node-runtimes.ts';
import { PAUSE_IMAGE, type RealNode, startRealNode } from '../../../support/nodes/real-node.ts';
import { type Registry, startRegistry } from '../../../support/nodes/registry.ts';
import { killContainer } from '../../../support/pods.ts';
import type { NodeRuntime } from '../../../support/toolchain/versions.ts';
import type { ContractNode, PulledImage } from './node.ts';

/** A real node that pulls from a registry of its own. */
export async function realContractNode(runtime: NodeRuntime): Promise<ContractNode> {
  const stack = new AsyncDisposableStack();
  try {
    const network = stack.use(await createNetwork());
    const registry = stack.use(await startRegistry(network));
    const node = stack.use(await startRealNode({ runtime, network }));
    return { ...playedOn(node, registry), [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

const playedOn = (node: RealNode, registry: Registry): Omit<ContractNode, typeof Symbol.asyncDispose> => ({
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
  importLikePulled: async (name) => {
    const image = `docker.io/local/${name}:1`;
    const id = await node.importImage({ name: image });
    const listed = await node.exec(ctr('images', 'ls', `name==${image}`));
    const digest = /sha256:[0-9a-f]{64}/.exec(listed)?.[0] ?? '';
    await node.exec(ctr('images', 'tag', image, `docker.io/local/${name}@${digest}`));
    await node.exec(
      ctr('content', 'label', digest, `containerd.io/distribution.source.docker.io=local/${name}`),
    );
    return id;
  },
  tag: node.tagImage,
  logDirectory: async (pod) => {
    const path = `/var/log/pods/${pod}`;
    await node.exec(['mkdir', '-p', `${path}/main`]);
    return path;
  },
  crash: (containerId) => killContainer(node, containerId),
  killRuntime: node.killRuntime,
  startRuntime: node.startRuntime,
  freeze: node.freeze,
  thaw: node.thaw,
});

async function pulled(
  { node, registry }: { readonly node: RealNode; readonly registry: Registry },
  name: string,
  { ownBytes, base }: { readonly ownBytes: number; readonly base?: Buffer },
): Promise<PulledImage> {
  using workload = connectWorkload(node.endpoint);
  const { reference, id, digest } = await registry.push(`contract/${name}`, '1', ownBytes, base);
  await workload.pullImage(reference);
  return { reference, id: node.imageIdOf(id), repoDigest: `${reference.replace(/:1$/, '')}@${digest}` };
}
