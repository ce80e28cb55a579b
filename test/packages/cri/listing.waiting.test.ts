import { describe, expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import type { SimulatedImage } from '../../../lab/sim/runtime/objects.ts';
import { CALL_TIMEOUTS, connectReader } from '../../../packages/cri/client.ts';
import { createListingMemory, readListing } from '../../../packages/cri/listing.ts';
import type { CompleteListing, Listing } from '../../../packages/cri/listing-types.ts';
import type { ImageLabels, RuntimeReader } from '../../../packages/cri/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { digestOf, listedContainer, listedSandbox, runtimeImage } from '../../fixtures/listing.ts';
import { simulatedNode } from '../../support/simulated-node.ts';

const POD = { name: 'web', namespace: 'default', containers: { app: 'nginx:1', side: 'envoy:1' } };
const IMPATIENT = { readMs: 200, removeImageMs: 200, removeMs: 200 };

function readerOf(node: SimulatedNode, timeouts = CALL_TIMEOUTS): RuntimeReader {
  const reader = connectReader(node.endpoint, timeouts);
  onTestFinished(() => reader[Symbol.dispose]());
  return reader;
}

const problemCodes = (listing: Listing): string[] =>
  listing.status === 'incomplete' ? listing.problems.map(({ code }) => code) : [];

function complete(listing: Listing): CompleteListing {
  if (listing.status === 'complete') return listing;
  throw new Error(`not complete: ${JSON.stringify(listing.problems)}`);
}

/** A runtime that holds what a test says; its statuses say nothing. */
const readerWith = (over: Partial<RuntimeReader>): RuntimeReader => ({
  version: async () => ({ name: 'runtime', version: '1', apiVersion: 'v1' }),
  status: async () => ({ runtimeReady: true, sandboxImage: '' }),
  listImages: async () => [],
  listContainers: async () => [],
  listSandboxes: async () => [],
  containerStatus: async (id) => ({
    ...listedContainer(id),
    startedAtNs: 0n,
    finishedAtNs: 0n,
  }),
  sandboxStatus: async (id) => ({ id, state: 'ready', image: '' }),
  imageLabels: async () => ({}),
  imageFilesystems: async () => ({ image: [], container: [] }),
  containerEvents: () => {
    throw new FleetGcError('RUNTIME_UNSUPPORTED', 'no events');
  },
  ...over,
});

function changeImage({ runtime }: SimulatedNode, over: Partial<SimulatedImage>): void {
  const image = runtime.findImage('nginx:1');
  if (image) runtime.addImage({ ...image, ...over });
}

describe('a listing is complete', () => {
  test('with statuses, sandbox images and all', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    const { images, containers, sandboxes } = complete(await readListing(readerOf(node)));
    expect(images.map(({ repoTags }) => repoTags[0]).toSorted()).toEqual([
      'docker.io/library/envoy:1',
      'docker.io/library/nginx:1',
      'registry.k8s.io/pause:3.10',
    ]);
    expect(containers.map(({ name, logPath }) => [name, logPath.startsWith(node.podLogsDir)])).toEqual([
      ['app', true],
      ['side', true],
    ]);
    expect(sandboxes.map(({ image }) => image)).toEqual(['registry.k8s.io/pause:3.10']);
  });

  test('[M26] with the time at which a container ended, asked for once it has', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    const reader = readerOf(node);
    const memory = createListingMemory();
    const finished = async () =>
      complete(await readListing(reader, memory)).containers.map(({ finishedAtNs }) => finishedAtNs);
    expect(await finished()).toEqual([null, null]);
    node.kubelet.crashPod(uid);
    expect(await finished()).toEqual([...node.runtime.containers.values()].map((one) => one.finishedAtNs));
  });

  test('with the mounted images of containers [C9, M19]', async () => {
    const node = await simulatedNode();
    const app = await node.runtime.pullImage('nginx:1');
    const data = await node.runtime.pullImage('data:1');
    const sandboxId = node.runtime.runSandbox({
      metadata: { name: 'web', uid: 'uid', namespace: 'default', attempt: 0 },
      logDirectory: '',
      labels: {},
      annotations: {},
    });
    node.runtime.createContainer({
      sandboxId,
      name: 'app',
      attempt: 0,
      image: app,
      userSpecifiedImage: 'nginx:1',
      mountedImages: [{ containerPath: '/data', image: data }],
      labels: {},
      annotations: {},
      logPath: '',
    });
    const { containers } = complete(await readListing(readerOf(node)));
    expect(containers[0]?.mountedImages.map(({ image }) => image)).toEqual([data]);
  });

  test('of a runtime that tells its sandbox image [M9]', async () => {
    const node = await simulatedNode({ age: 'old' });
    const listing = complete(await readListing(readerOf(node)));
    expect(listing.configuredSandboxImage).toBe('registry.k8s.io/pause:3.10');
  });

  test('and asks each status once while it remembers', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    const [memory, reader] = [createListingMemory(), readerOf(node)];
    const first = complete(await readListing(reader, memory));
    node.faults.onCall('containerStatus', { kind: 'error', message: 'not asked' });
    node.faults.onCall('podSandboxStatus', { kind: 'error', message: 'not asked' });
    node.faults.onCall('imageStatus', { kind: 'error', message: 'not asked' });
    expect(complete(await readListing(reader, memory))).toEqual(first);
  });

  test('and asks again for a sandbox image that the runtime did not tell', async () => {
    const images = ['', 'pause:1'];
    const reader = readerWith({
      listSandboxes: async () => [listedSandbox('s')],
      sandboxStatus: async (id) => ({ id, state: 'ready', image: images.shift() ?? 'asked too often' }),
    });
    const memory = createListingMemory();
    for (const image of ['', 'pause:1', 'pause:1'])
      expect(complete(await readListing(reader, memory)).sandboxes).toMatchObject([{ image }]);
  });

  test('with labels, or without where the runtime does not tell them [M11]', async () => {
    const told: (ImageLabels | null)[] = [null, { tier: 'base' }];
    const reader = readerWith({
      listImages: async () => [runtimeImage('a')],
      imageLabels: async () => (told.length > 0 ? (told.shift() ?? null) : { asked: 'too often' }),
    });
    const memory = createListingMemory();
    for (const labels of [null, { tier: 'base' }, { tier: 'base' }])
      expect(complete(await readListing(reader, memory)).images).toMatchObject([{ labels }]);
  });

  test('without labels that are more than is read, for which it asks once [M11]', async () => {
    let asked = 0;
    const reader = readerWith({
      listImages: async () => [runtimeImage('a')],
      imageLabels: async () => {
        asked += 1;
        throw new FleetGcError('RUNTIME_ANSWER_TOO_LARGE', 'too much');
      },
    });
    const memory = createListingMemory();
    for (let look = 0; look < 3; look += 1)
      expect(complete(await readListing(reader, memory)).images).toMatchObject([{ labels: null }]);
    expect(asked).toBe(1);
  });

  test('and forgets containers that are gone', async () => {
    const node = await simulatedNode();
    const uid = await node.kubelet.startPod(POD);
    const [memory, reader] = [createListingMemory(), readerOf(node)];
    await readListing(reader, memory);
    node.kubelet.deletePod(uid);
    for (const id of [...node.runtime.sandboxes.keys()]) node.runtime.removeSandbox(id);
    await readListing(reader, memory);
    expect([memory.containers.size, memory.sandboxImages.size]).toEqual([0, 0]);
  });
});

describe('a listing is incomplete [C6]', () => {
  const METHODS = [
    'status',
    'listImages',
    'imageStatus',
    'listPodSandbox',
    'listContainers',
    'podSandboxStatus',
    'containerStatus',
  ] as const;

  test.each(METHODS)('when %s fails', async (method) => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    node.faults.onCall(method, { kind: 'error', message: 'out of order' });
    expect(problemCodes(await readListing(readerOf(node)))).toEqual(['runtime-partial']);
  });

  test.each(METHODS)('when %s hangs', async (method) => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    node.faults.onCall(method, { kind: 'hang' });
    expect(problemCodes(await readListing(readerOf(node, IMPATIENT)))).toEqual(['runtime-unreachable']);
  });

  test('when there is no runtime', async () => {
    const node = await simulatedNode();
    await node.die();
    expect(problemCodes(await readListing(readerOf(node)))).toEqual(['runtime-unreachable']);
  });

  test.each(['listImages', 'listPodSandbox', 'listContainers'] as const)(
    'when %s once answers half',
    async (method) => {
      const node = await simulatedNode();
      await node.kubelet.startPod(POD);
      await node.kubelet.startPod({ ...POD, name: 'other' });
      node.kubelet.crashPod([...node.kubelet.pods.keys()][1] ?? '');
      node.faults.onCall(method, { kind: 'half' }, 1);
      expect(problemCodes(await readListing(readerOf(node)))).not.toEqual([]);
    },
  );

  test('when sandboxes are missing of containers that run', async () => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    node.faults.onCall('listPodSandbox', { kind: 'half' });
    expect(problemCodes(await readListing(readerOf(node)))).toEqual(['runtime-partial', 'runtime-partial']);
  });

  test.each<{ name: string; change: (node: SimulatedNode) => unknown }>([
    {
      name: 'a container stopped',
      change: (node) => node.kubelet.crashPod([...node.kubelet.pods.keys()][0] ?? ''),
    },
    {
      name: 'a sandbox stopped',
      change: (node) => node.runtime.stopSandbox([...node.runtime.sandboxes.keys()][0] ?? ''),
    },
    {
      name: 'a container went',
      change: (node) => node.runtime.removeContainer([...node.runtime.containers.keys()][0] ?? ''),
    },
    { name: 'an image went', change: (node) => node.runtime.removeImage('nginx:1') },
    { name: 'an image came', change: (node) => node.runtime.pullImage('new:1') },
    { name: 'an image got another name', change: (node) => node.runtime.tagImage('nginx:1', 'nginx:2') },
    {
      name: 'an image got another digest',
      change: (node) => changeImage(node, { repoDigests: [`docker.io/library/nginx@${digestOf('new')}`] }),
    },
    { name: 'an image was pinned', change: (node) => changeImage(node, { pinned: true }) },
    {
      name: 'a name moved to another image',
      change: (node) =>
        node.runtime.addImage({
          ...runtimeImage('new'),
          isPulled: true,
          labels: {},
          repoTags: ['docker.io/library/nginx:1'],
        }),
    },
  ])('when meanwhile $name [K5, K6]', async ({ change }) => {
    const node = await simulatedNode();
    await node.kubelet.startPod(POD);
    node.faults.afterCall('listContainers', () => change(node));
    expect(problemCodes(await readListing(readerOf(node)))).toEqual(['runtime-changed-meanwhile']);
  });

  test('when meanwhile an empty sandbox stopped [H3]', async () => {
    const node = await simulatedNode();
    const metadata = { name: 'web', uid: 'uid', namespace: 'default', attempt: 0 };
    const id = node.runtime.runSandbox({ metadata, logDirectory: '', labels: {}, annotations: {} });
    node.faults.afterCall('listContainers', () => node.runtime.stopSandbox(id));
    expect(problemCodes(await readListing(readerOf(node)))).toEqual(['runtime-changed-meanwhile']);
  });

  test.each<{ name: string; reader: Partial<RuntimeReader>; code: string }>([
    {
      name: 'an image is listed twice [C5]',
      reader: { listImages: async () => [runtimeImage('a'), runtimeImage('a', { sizeBytes: 1n })] },
      code: 'duplicate-ids',
    },
    {
      name: 'a container is listed twice',
      reader: {
        listContainers: async () => [
          listedContainer('c', { state: 'exited' }),
          listedContainer('c', { state: 'created' }),
        ],
      },
      code: 'duplicate-ids',
    },
    {
      name: 'a sandbox is listed twice',
      reader: { listSandboxes: async () => [listedSandbox('s'), listedSandbox('s')] },
      code: 'duplicate-ids',
    },
    {
      name: 'a size passes 2^53 [D6]',
      reader: { listImages: async () => [runtimeImage('a', { sizeBytes: 2n ** 53n })] },
      code: 'value-out-of-range',
    },
    {
      name: 'a container was created before 1970',
      reader: { listContainers: async () => [listedContainer('c', { state: 'exited', createdAtNs: -1n })] },
      code: 'value-out-of-range',
    },
    {
      name: 'a sandbox was created before 1970',
      reader: { listSandboxes: async () => [listedSandbox('s', { createdAtNs: -1n })] },
      code: 'value-out-of-range',
    },
  ])('when $name', async ({ reader, code }) => {
    expect(problemCodes(await readListing(readerWith(reader)))).toEqual([code]);
  });

  test('and values at the edge are believed', async () => {
    const reader = readerWith({
      listImages: async () => [runtimeImage('a', { sizeBytes: 2n ** 53n - 1n })],
      listSandboxes: async () => [listedSandbox('s', { createdAtNs: 0n })],
    });
    expect((await readListing(reader)).status).toBe('complete');
  });
});

test('a fault of ours is not taken for one of the runtime', async () => {
  const reader = readerWith({ listImages: () => Promise.reject(new TypeError('ours')) });
  await expect(readListing(reader)).rejects.toThrow('ours');
});
