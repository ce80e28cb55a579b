import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRemover } from '../../../services/shared/cri/client.ts';
import { readListing } from '../../../services/shared/cri/listing.ts';
import type { CompleteListing } from '../../../services/shared/cri/listing-types.ts';
import type { RuntimeReader, RuntimeRemover } from '../../../services/shared/cri/port.ts';
import { imageUsage } from '../../../services/shared/cri/usage.ts';
import {
  type ContainerSpec,
  connectWorkload,
  kubeletLabels,
  type PodSpec,
  type Workload,
} from '../../../services/shared/cri/workload.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SETTLE_MS = 10_000;

export interface PulledImage {
  readonly reference: string;
  readonly id: string;
  readonly repoDigest: string;
}

/** A node that the contract can be tried on, real or not. */
export interface ContractNode extends AsyncDisposable {
  readonly endpoint: string;
  /** `old`: no image ids on containers, no pinned images, no events. */
  readonly age: 'old' | 'current';
  readonly sandboxImage: string;
  /** Pulls an image that is not there yet; `name` is new in each test. */
  pull(name: string): Promise<PulledImage>;
  /** Gives a listed image one more name. */
  tag(reference: string, another: string): Promise<void>;
  /** An existing directory for a pod's logs. */
  logDirectory(pod: string): Promise<string>;
  /** Ends the container's process from outside, as a crash does. */
  crash(containerId: string): Promise<void>;
  killRuntime(): Promise<void>;
  startRuntime(): Promise<void>;
  /** Connections stay open and nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

interface Tried {
  readonly node: ContractNode;
  readonly runtime: RuntimeReader & RuntimeRemover & Disposable;
  readonly workload: Workload;
}

/** What every runtime does for us, with the same assertions for the simulated and the real ones. */
export function runtimeContract(name: string, start: () => Promise<ContractNode>): void {
  describe(name, () => {
    let tried: Tried;
    beforeAll(async () => {
      const node = await start();
      tried = { node, runtime: connectRemover(node.endpoint), workload: connectWorkload(node.endpoint) };
    });
    afterAll(async () => {
      tried.workload[Symbol.dispose]();
      tried.runtime[Symbol.dispose]();
      await tried.node[Symbol.asyncDispose]();
    });
    describe('images', () => imageContract(() => tried));
    describe('sandboxes', () => sandboxContract(() => tried));
    describe('containers', () => containerContract(() => tried));
    describe('the runtime', () => processContract(() => tried));
  });
}

function imageContract(tried: () => Tried): void {
  test('a pulled one is listed with id, name, digest and size, and is not pinned', async () => {
    const { node, runtime } = tried();
    const { id, reference, repoDigest } = await node.pull('pulled');
    const image = await waitUntil('its size to be known', SETTLE_MS, async () => {
      const listed = (await runtime.listImages()).find((one) => one.id === id);
      return listed && listed.sizeBytes > 0n ? listed : null;
    });
    expect(image).toMatchObject({ repoTags: [reference], repoDigests: [repoDigest], pinned: false });
  });

  test('[M10, C12] the sandbox image is pinned where the runtime pins', async () => {
    const { node, runtime } = tried();
    const image = (await runtime.listImages()).find(({ repoTags }) => repoTags.includes(node.sandboxImage));
    expect(image?.pinned).toBe(node.age === 'current');
  });

  test('one removed by id goes with all its names', async () => {
    const { node, runtime } = tried();
    const { id, reference } = await node.pull('named');
    await node.tag(reference, 'registry.example/team/other:2');
    await waitUntil(
      'both names to be listed',
      SETTLE_MS,
      async () => (await namesOf(runtime, id)).length === 2,
    );
    await runtime.removeImage(id);
    expect(await namesOf(runtime, id)).toEqual([]);
    expect((await runtime.listImages()).map((image) => image.id)).not.toContain(id);
  });

  test('[M31] one removed twice is no error', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('twice');
    await runtime.removeImage(id);
    await runtime.removeImage(id);
  });

  test('[K4] one in use is removed all the same, and its container runs on', async () => {
    const { node, runtime } = tried();
    const image = await node.pull('in-use');
    const { containerId } = await runContainer(tried(), 'in-use', image);
    await runtime.removeImage(image.id);
    expect((await runtime.listImages()).map(({ id }) => id)).not.toContain(image.id);
    expect((await runtime.containerStatus(containerId)).state).toBe('running');
  });

  test('the filesystem that holds them has a mount point', async () => {
    const { image } = await tried().runtime.imageFilesystems();
    expect(image.map(({ mountpoint }) => mountpoint)).toEqual([expect.stringMatching(/^\//)]);
  });
}

const UNKNOWN_ID = '0'.repeat(64);

/** Stopping became idempotent after containerd 1.6. */
const stopsUnknown = ({ age }: ContractNode, stop: Promise<void>): Promise<void> =>
  age === 'old'
    ? expect(stop).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' })
    : expect(stop).resolves.toBeUndefined();

const namesOf = async (runtime: RuntimeReader, id: string): Promise<readonly string[]> =>
  (await runtime.listImages()).find((image) => image.id === id)?.repoTags ?? [];

function sandboxContract(tried: () => Tried): void {
  test('one that runs is listed as ready, with labels and metadata', async () => {
    const { runtime, workload } = tried();
    const pod = await podNamed(tried(), 'ready');
    const id = await workload.runSandbox(pod);
    const sandbox = (await runtime.listSandboxes()).find((one) => one.id === id);
    const { name: podName, uid: podUid, namespace: podNamespace, labels } = pod;
    expect(sandbox).toMatchObject({ podName, podUid, podNamespace, attempt: 0, state: 'ready' });
    expect(sandbox?.labels).toMatchObject(labels);
    expect(sandbox?.createdAtNs).toBeGreaterThan(0n);
  });

  test('[M9] one tells the image it runs on', async () => {
    const { node, runtime, workload } = tried();
    const id = await workload.runSandbox(await podNamed(tried(), 'image'));
    expect(await runtime.sandboxStatus(id)).toEqual({ id, state: 'ready', image: node.sandboxImage });
  });

  test('one that was stopped is not ready, and once removed not found', async () => {
    const { runtime, workload } = tried();
    const id = await workload.runSandbox(await podNamed(tried(), 'stopped'));
    await runtime.stopSandbox(id);
    expect((await runtime.sandboxStatus(id)).state).toBe('notReady');
    expect((await runtime.listSandboxes()).find((one) => one.id === id)?.state).toBe('notReady');
    await runtime.removeSandbox(id);
    await expect(runtime.sandboxStatus(id)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('one goes with its containers', async () => {
    const { node, runtime } = tried();
    const { sandboxId, containerId } = await runContainer(tried(), 'whole', await node.pull('whole'));
    await runtime.stopSandbox(sandboxId);
    await runtime.removeSandbox(sandboxId);
    await expect(runtime.containerStatus(containerId)).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });

  test('one that is ready is removed by force', async () => {
    const { node, runtime } = tried();
    const { sandboxId, containerId } = await runContainer(tried(), 'ready-one', await node.pull('ready-one'));
    await runtime.removeSandbox(sandboxId);
    expect((await runtime.listSandboxes()).map(({ id }) => id)).not.toContain(sandboxId);
    expect((await runtime.listContainers()).map(({ id }) => id)).not.toContain(containerId);
  });

  test('[M31] an unknown one is removed without error, and stopped without error or not found', async () => {
    const { node, runtime } = tried();
    await runtime.removeSandbox(UNKNOWN_ID);
    await stopsUnknown(node, runtime.stopSandbox(UNKNOWN_ID));
  });
}

function containerContract(tried: () => Tried): void {
  test('one goes from created over running to exited, and uses its image throughout [C8]', async () => {
    const { node, runtime, workload } = tried();
    const image = await node.pull('lifecycle');
    const { containerId: id } = await newContainer(tried(), 'lifecycle', image);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'created', used: true });
    await workload.startContainer(id);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'running', used: true });
    await runtime.stopContainer(id, 0);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: 'exited', used: true });
    await runtime.removeContainer(id);
    expect(await stateAndUse(runtime, id, image)).toEqual({ state: undefined, used: false });
  });

  test('one tells its names, labels, image and creation', async () => {
    const { node, runtime } = tried();
    const image = await node.pull('told');
    const { containerId, sandboxId, spec } = await newContainer(tried(), 'told', image);
    const container = (await runtime.listContainers()).find(({ id }) => id === containerId);
    expect(container).toMatchObject({ sandboxId, name: 'main', attempt: 0, imageRef: image.id });
    expect(container?.labels).toMatchObject(spec.labels);
    expect(container?.imageId).toBe(node.age === 'old' ? '' : image.id);
    expect(container?.createdAtNs).toBe((await runtime.containerStatus(containerId)).createdAtNs);
    expect(container?.createdAtNs).toBeGreaterThan(0n);
  });

  test('[G20] one tells the absolute path of its log', async () => {
    const { node, runtime } = tried();
    const { containerId, pod } = await newContainer(tried(), 'log', await node.pull('log'));
    expect((await runtime.containerStatus(containerId)).logPath).toBe(`${pod.logDirectory}/main/0.log`);
  });

  test('one whose process ended is exited', async () => {
    const { node, runtime } = tried();
    const { containerId } = await runContainer(tried(), 'crash', await node.pull('crash'));
    await node.crash(containerId);
    await waitUntil('the container to have exited', SETTLE_MS, async () => {
      const { state, finishedAtNs } = await runtime.containerStatus(containerId);
      return state === 'exited' && finishedAtNs > 0n;
    });
  });

  test('[K4] one that runs is removed by force', async () => {
    const { node, runtime } = tried();
    const { containerId } = await runContainer(tried(), 'force', await node.pull('force'));
    await runtime.removeContainer(containerId);
    expect((await runtime.listContainers()).map(({ id }) => id)).not.toContain(containerId);
  });

  test('[M31] an unknown one is removed without error, and its status is not found', async () => {
    const { runtime } = tried();
    await runtime.removeContainer('0'.repeat(64));
    await expect(runtime.containerStatus('0'.repeat(64))).rejects.toMatchObject({
      code: 'RUNTIME_NOT_FOUND',
    });
  });

  test('[C9, M19] one tells the images it mounts, where the runtime can', async () => {
    const { node, runtime } = tried();
    const [image, data] = [await node.pull('mounting'), await node.pull('mounted')];
    if (node.age === 'old') return expect(newContainer(tried(), 'mounting', image, data)).rejects.toThrow();
    await newContainer(tried(), 'mounting', image, data);
    expect(imageUsage(await listingOf(runtime), []).users.get(data.id)).toHaveLength(1);
  });

  test('no image is in use that no container has, and the sandbox image is known [M9]', async () => {
    const { node, runtime } = tried();
    const { id } = await node.pull('unused');
    const usage = imageUsage(await listingOf(runtime), []);
    expect(usage.users.get(id)).toEqual([]);
    expect(usage).toMatchObject({ containersWithoutImage: [], sandboxImageKnown: true });
  });
}

function processContract(tried: () => Tried): void {
  test('says that it speaks v1 and is ready', async () => {
    const { runtime } = tried();
    const { name, version, apiVersion } = await runtime.version();
    expect([name, version]).not.toContain('');
    expect(apiVersion).toBe('v1');
    expect((await runtime.status()).runtimeReady).toBe(true);
  });

  test('[M9] tells the configured sandbox image where it does not pin it', async () => {
    const { node, runtime } = tried();
    expect((await runtime.status()).sandboxImage).toBe(node.age === 'old' ? node.sandboxImage : '');
  });

  test('tells what happens to containers, or that it does not', async () => {
    const { node, runtime } = tried();
    const stop = new AbortController();
    const kinds: string[] = [];
    let containerId = '';
    const collected = (async () => {
      for await (const event of runtime.containerEvents(stop.signal))
        if (event.containerId === containerId) kinds.push(event.kind);
    })();
    if (node.age === 'old') return expect(collected).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' });
    ({ containerId } = await runContainer(tried(), 'events', await node.pull('events')));
    await node.crash(containerId);
    await waitUntil('the event that it stopped', SETTLE_MS, () => kinds.includes('stopped'));
    await runtime.removeContainer(containerId);
    await waitUntil('the event that it was deleted', SETTLE_MS, () => kinds.includes('deleted'));
    stop.abort();
    await collected;
  });

  test('when it stands still, calls end with their deadline', async () => {
    const { node } = tried();
    const timeouts = { readMs: 500, removeImageMs: 500, removeMs: 500 };
    using impatient = connectRemover(node.endpoint, timeouts);
    await impatient.listImages();
    await node.freeze();
    try {
      await expect(impatient.listImages()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    } finally {
      await node.thaw();
    }
    await waitUntil('an answer', SETTLE_MS, () => impatient.listImages());
  });

  test('when it is gone, calls say so; when it is back, the same connection has everything again', async () => {
    const { node, runtime } = tried();
    const before = await listingOf(runtime);
    await node.killRuntime();
    await expect(runtime.listImages()).rejects.toMatchObject({
      code: expect.stringMatching(/^RUNTIME_(MISSING|REFUSED)$/),
    });
    expect(await readListing(runtime)).toMatchObject({ problems: [{ code: 'runtime-unreachable' }] });
    await node.startRuntime();
    await waitUntil('an answer of the runtime that came back', SETTLE_MS, () => runtime.version());
    const after = await listingOf(runtime);
    expect(idsIn(after)).toEqual(idsIn(before));
  });
}

const idsIn = ({ images, containers, sandboxes }: CompleteListing): string[][] =>
  [images, containers, sandboxes].map((list) => list.map(({ id }) => id).toSorted());

/** Containers settle for a moment after they were started or stopped. */
const listingOf = (runtime: RuntimeReader): Promise<CompleteListing> =>
  waitUntil('a complete listing', SETTLE_MS, async () => {
    const listing = await readListing(runtime);
    return listing.status === 'complete' && listing;
  });

async function stateAndUse(runtime: RuntimeReader, id: string, image: PulledImage) {
  const listing = await listingOf(runtime);
  const users = imageUsage(listing, []).users.get(image.id) ?? [];
  return {
    state: listing.containers.find((container) => container.id === id)?.state,
    used: users.some((user) => user.kind === 'container' && user.id === id),
  };
}

interface NewContainer {
  readonly pod: PodSpec;
  readonly spec: ContainerSpec;
  readonly sandboxId: string;
  readonly containerId: string;
}

async function podNamed({ node }: Tried, name: string): Promise<PodSpec> {
  const identity = { name, uid: `uid-of-${name}`, namespace: 'contract' };
  const logDirectory = await node.logDirectory(name);
  return { ...identity, attempt: 0, logDirectory, labels: kubeletLabels(identity) };
}

async function newContainer(
  tried: Tried,
  name: string,
  image: PulledImage,
  mounted?: PulledImage,
): Promise<NewContainer> {
  const pod = await podNamed(tried, name);
  const sandboxId = await tried.workload.runSandbox(pod);
  const spec: ContainerSpec = {
    name: 'main',
    attempt: 0,
    image: image.id,
    command: [],
    logPath: 'main/0.log',
    labels: { ...pod.labels, 'io.kubernetes.container.name': 'main' },
    imageMounts: mounted ? [{ containerPath: '/mounted', image: mounted.reference }] : [],
  };
  const containerId = await tried.workload.createContainer(sandboxId, pod, spec);
  return { pod, spec, sandboxId, containerId };
}

async function runContainer(tried: Tried, name: string, image: PulledImage): Promise<NewContainer> {
  const container = await newContainer(tried, name, image);
  await tried.workload.startContainer(container.containerId);
  return container;
}
