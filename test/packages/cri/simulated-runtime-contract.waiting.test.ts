import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SANDBOX_IMAGE, startSimulatedNode } from '../../../lab/sim/node.ts';
import type { RuntimeAge, SimulatedImage } from '../../../lab/sim/runtime/objects.ts';
import { digestOf } from '../../fixtures/listing.ts';
import { manualClock } from '../../support/manual-clock.ts';
import type { ContractNode } from './contract/node.ts';
import { readThroughProxy } from './contract/through-proxy.ts';
import { TRAITS } from './contract/traits.ts';
import { runtimeContract } from './contract.ts';

runtimeContract('the simulated runtime as containerd 2', TRAITS['containerd 2'], () =>
  contractNode('current'),
);
runtimeContract('the simulated runtime as containerd 1.6', TRAITS['containerd 1.6'], () =>
  contractNode('old'),
);
runtimeContract('the simulated runtime, read through the proxy', TRAITS['containerd 2'], async () =>
  readThroughProxy(await contractNode('current')),
);

async function contractNode(age: RuntimeAge): Promise<ContractNode> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-node-'));
  const clock = manualClock();
  const node = await startSimulatedNode({
    name: 'node-a',
    directory,
    clock,
    age,
    capacityBytes: 10n ** 12n,
    hasContainerdApi: true,
  });
  return {
    endpoint: node.endpoint,
    readingEndpoint: node.endpoint,
    sandboxImage: SANDBOX_IMAGE,
    pull: async (name) => {
      const reference = `registry.example:5000/contract/${name}:1`;
      const id = await node.runtime.pullImage(reference);
      return { reference, id, repoDigest: node.runtime.images.get(id)?.repoDigests[0] ?? '' };
    },
    pullSharing: async (names, { baseBytes, ownBytes }) =>
      names.map((name) => {
        const reference = `registry.example:5000/contract/${name}:1`;
        const image = sharingImage(name, [
          { digest: digestOf(`base of ${names}`), bytes: baseBytes },
          { digest: digestOf(`own of ${name}`), bytes: ownBytes },
        ]);
        node.runtime.addImage({ ...image, repoTags: [reference] });
        return { reference, id: image.id, repoDigest: image.repoDigests[0] ?? '' };
      }),
    availableBytes: async () => Number((await node.filesystems.read()).imagefs?.availableBytes),
    importLabelled: async (name, labels) => {
      const image = importedImage(name);
      node.runtime.addImage({ ...image, labels });
      return image.id;
    },
    importWithDigest: async (name) => {
      const image = importedImage(name);
      const repoDigests = [`docker.io/local/${name}@${digestOf(`manifest of ${name}`)}`];
      node.runtime.addImage({ ...image, repoDigests });
      return image.id;
    },
    importLikePulled: async (name) => {
      const image = importedImage(name);
      const repoDigests = [`docker.io/local/${name}@${digestOf(`manifest of ${name}`)}`];
      node.runtime.addImage({ ...image, repoDigests, hasPullLabel: true });
      return image.id;
    },
    tag: async (reference, another) => node.runtime.tagImage(reference, another),
    logDirectory: async (pod) => {
      const path = join(node.podLogsDir, pod);
      mkdirSync(join(path, 'main'), { recursive: true });
      return path;
    },
    crash: async (containerId) => node.runtime.stopContainer(containerId),
    killRuntime: node.die,
    startRuntime: node.revive,
    freeze: async () => node.faults.onCall('listImages', { kind: 'hang' }),
    thaw: async () => node.faults.clear(),
    [Symbol.asyncDispose]: async () => {
      await node[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const importedImage = (name: string): SimulatedImage => ({
  id: digestOf(name),
  repoTags: [`docker.io/local/${name}:1`],
  repoDigests: [],
  sizeBytes: 1n,
  pinned: false,
  isPulled: false,
  labels: {},
});

/** An image as one with these layers lies on a node: packed and unpacked. */
function sharingImage(
  name: string,
  layers: readonly { readonly digest: string; readonly bytes: number }[],
): SimulatedImage {
  const sizes = layers.map(({ bytes }) => BigInt(bytes));
  return {
    id: digestOf(name),
    repoTags: [],
    repoDigests: [`registry.example:5000/contract/${name}@${digestOf(`manifest of ${name}`)}`],
    sizeBytes: sizes.reduce((sum, bytes) => sum + bytes, 0n),
    pinned: false,
    isPulled: true,
    labels: {},
    layers: layers.map(({ digest, bytes }) => ({
      digest,
      packedBytes: BigInt(bytes),
      unpackedBytes: BigInt(bytes),
    })),
  };
}
