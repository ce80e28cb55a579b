import { expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode, SimulatedNodeOptions } from '../../../../lab/sim/node.ts';
import type { LayerTable } from '../../../../packages/cri/containerd/image-layers.ts';
import { connectContainerd } from '../../../../packages/cri/containerd/reader.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import {
  type ContentReading,
  contentReading,
  type DetectedImage,
  type ImageOrigin,
  type MissingContents,
} from '../../../../services/node/agent/contents.ts';
import { runtimeImage } from '../../../fixtures/listing.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';

type Origins = Readonly<Record<string, ImageOrigin | undefined>>;

interface Reading {
  readonly node: SimulatedNode;
  /** Of the images that the node lists. */
  readonly read: (againSinceMs?: number) => ReturnType<ContentReading>;
  readonly layers: () => Promise<LayerTable | null>;
  /** By the first name of each image that is there by now. */
  readonly origins: () => Promise<Origins>;
  readonly told: readonly MissingContents[];
}

/** The images of the node; nginx is listed since then. */
const detected = (node: SimulatedNode, nginxSinceMs = 0): readonly DetectedImage[] =>
  [...node.runtime.images.values()].map((image) => ({
    ...image,
    firstDetectedMs: image.repoTags.includes(NGINX) ? nginxSinceMs : 0,
  }));

async function reading(options: Partial<SimulatedNodeOptions> = {}): Promise<Reading> {
  const node = await simulatedNode({ hasContainerdApi: true, ...options });
  const containerd = connectContainerd(node.endpoint);
  onTestFinished(() => containerd[Symbol.dispose]());
  const told: MissingContents[] = [];
  const contentsOf = contentReading({
    importsLookPulled: false,
    containerd,
    clock: node.clock,
    onMissing: (missing) => told.push(missing),
  });
  await node.runtime.pullImage('nginx:1');
  const listed = () => [...node.runtime.images.values()];
  const read = (againSinceMs = 0) => contentsOf(detected(node, againSinceMs));
  return {
    node,
    read,
    layers: async () => (await read()).layers,
    origins: async () => {
      const { originOf } = await read();
      return Object.fromEntries(listed().map(({ id, repoTags: [name = id] }) => [name, originOf(id)]));
    },
    told,
  };
}

/** An image with a name and a digest, as of a registry, that nobody pulled. */
const imported = (node: SimulatedNode, name: string): void =>
  node.runtime.addImage({ ...runtimeImage(name), repoTags: [name], labels: {}, isPulled: false });

const failing = { kind: 'error', message: 'the metadata database is locked' } as const;
const PAUSE = 'registry.k8s.io/pause:3.10';
const NGINX = 'docker.io/library/nginx:1';

test('[M7] the layers of every listed image are read', async () => {
  const { node, layers, told } = await reading();
  const table = await layers();
  expect([...(table?.ofImage.keys() ?? [])].toSorted()).toEqual([...node.runtime.images.keys()].toSorted());
  expect(table?.layers).toHaveLength(2);
  expect(told).toEqual([]);
});

test('[M12] of every listed image it is read whether it was pulled', async () => {
  const { node, origins } = await reading();
  imported(node, 'own');
  expect(await origins()).toEqual({ [PAUSE]: 'not-pulled', [NGINX]: 'pulled', own: 'not-pulled' });
});

test('[M7, M12] a runtime without the API of containerd tells nothing, and that is said once', async () => {
  const { read, layers, origins, told } = await reading({ hasContainerdApi: false });
  expect([await layers(), await layers()]).toEqual([null, null]);
  expect(await origins()).toEqual({ [PAUSE]: undefined, [NGINX]: undefined });
  expect((await read()).originOf('any')).toBeUndefined();
  expect(told).toEqual([
    {
      reason: expect.stringContaining('no containerd API'),
      effect: expect.stringContaining('none stays because it was not pulled'),
      isFailure: false,
    },
  ]);
});

const METHODS = ['listStoredImages', 'listContent', 'listSnapshots', 'snapshotUsage'] as const;

test.each(METHODS)(
  '[M7] while %s fails there are no layers, which is said once, and again when it comes back',
  async (method) => {
    const { node, layers, told } = await reading();
    node.faults.onCall(method, failing);
    expect([await layers(), await layers()]).toEqual([null, null]);
    expect(told).toEqual([
      {
        reason: expect.stringContaining(failing.message),
        effect: expect.stringContaining('stay where keep.unpullable is true'),
        isFailure: true,
      },
    ]);
    node.faults.clear();
    expect(await layers()).not.toBeNull();
    node.faults.onCall(method === 'snapshotUsage' ? 'listContent' : method, failing);
    expect(await layers()).toBeNull();
    expect(told).toHaveLength(2);
  },
);

const NOBODY_KNOWS: Origins = { [PAUSE]: 'unknown', [NGINX]: 'unknown', own: 'unknown' };
const READ: Origins = { [PAUSE]: 'not-pulled', [NGINX]: 'pulled', own: 'not-pulled' };

test.each<{ method: (typeof METHODS)[number]; atFirst: Origins; later: Origins }>([
  { method: 'listStoredImages', atFirst: NOBODY_KNOWS, later: { ...READ, new: 'unknown' } },
  { method: 'listContent', atFirst: NOBODY_KNOWS, later: { ...READ, new: 'unknown' } },
  { method: 'listSnapshots', atFirst: READ, later: { ...READ, new: 'not-pulled' } },
  { method: 'snapshotUsage', atFirst: READ, later: { ...READ, new: 'not-pulled' } },
])('[M12] while $method fails, what was read before holds', async ({ method, atFirst, later }) => {
  const { node, origins } = await reading();
  imported(node, 'own');
  node.faults.onCall(method, failing);
  expect(await origins()).toEqual(atFirst);
  node.faults.clear();
  expect(await origins()).toEqual(READ);
  imported(node, 'new');
  node.faults.onCall(method, failing);
  expect([await origins(), await origins()]).toEqual([later, later]);
});

test('[M12, C4] what was read of an image does not hold for one that comes later under its id', async () => {
  const { node, read } = await reading();
  const nginx = [...node.runtime.images.values()].find(({ repoTags }) => repoTags.includes(NGINX));
  const originSince = async (ms: number) => (await read(ms)).originOf(nginx?.id ?? '');
  expect(await originSince(0)).toBe('pulled');
  node.faults.onCall('listContent', failing);
  expect(await originSince(0)).toBe('pulled');
  expect(await originSince(60_000)).toBe('unknown');
});

test('[M12] what containerd has no content of is unknown, whatever was read before', async () => {
  const { node, read } = await reading();
  const [, nginx] = [...node.runtime.images.values()];
  const originOfNginx = async () => (await read()).originOf(nginx?.id ?? '');
  expect(await originOfNginx()).toBe('pulled');
  node.runtime.removeImage(NGINX);
  expect(await originOfNginx()).toBe('unknown');
  node.faults.onCall('listContent', failing);
  expect(await originOfNginx()).toBe('unknown');
});

test('[M12] a runtime that has told origins has not lost them when it says that it has no such API', async () => {
  const node = await simulatedNode({ hasContainerdApi: true });
  using containerd = connectContainerd(node.endpoint);
  const without = new FleetGcError('RUNTIME_UNSUPPORTED', 'unknown service');
  let isWithout = false;
  const contentsOf = contentReading({
    importsLookPulled: false,
    containerd: {
      ...containerd,
      images: (ms) => (isWithout ? Promise.reject(without) : containerd.images(ms)),
    },
    clock: node.clock,
    onMissing: () => {},
  });
  const listed = detected(node);
  await contentsOf(listed);
  isWithout = true;
  const { originOf } = await contentsOf(listed);
  expect([originOf(listed[0]?.id ?? ''), originOf('another')]).toEqual(['not-pulled', 'unknown']);
});

test('[M12] an imported image that is pulled later counts as pulled', async () => {
  const { node, origins } = await reading();
  const [, nginx] = [...node.runtime.images.values()];
  node.runtime.removeImage(NGINX);
  if (nginx) node.runtime.addImage({ ...nginx, isPulled: false });
  expect(await origins()).toMatchObject({ [NGINX]: 'not-pulled' });
  await node.runtime.pullImage('nginx:1');
  expect(await origins()).toMatchObject({ [NGINX]: 'pulled' });
});

test('the size of a snapshot is asked for once', async () => {
  const { node, layers } = await reading();
  const table = await layers();
  node.faults.onCall('snapshotUsage', failing);
  expect(await layers()).toEqual(table);
  await node.runtime.pullImage('redis:1');
  expect(await layers()).toBeNull();
});

test('a snapshot that vanished meanwhile is no layer', async () => {
  const { node, layers } = await reading();
  const listed = [...node.runtime.images.values()];
  node.faults.afterCall('listSnapshots', () => node.runtime.removeImage('nginx:1'));
  const table = await layers();
  expect(table?.ofImage.get(listed.at(-1)?.id ?? '')).toEqual([]);
});

test('[M7, M12] where nobody is to be asked nothing is known, and nothing is said', async () => {
  const told: MissingContents[] = [];
  const { node } = await reading();
  const contentsOf = contentReading({
    importsLookPulled: false,
    containerd: null,
    clock: node.clock,
    onMissing: (missing) => told.push(missing),
  });
  const listed = detected(node);
  const { layers, originOf } = await contentsOf(listed);
  expect(layers).toBeNull();
  expect(listed.map(({ id }) => originOf(id))).toEqual([undefined, undefined]);
  expect(told).toEqual([]);
});

test('[M12] where imports look like pulls none is known to have been pulled, and what is known not to have been stays so', async () => {
  const { node } = await reading();
  imported(node, 'own');
  using containerd = connectContainerd(node.endpoint);
  const asked = contentReading({
    containerd,
    importsLookPulled: true,
    clock: node.clock,
    onMissing: () => {},
  });
  const notAsked = contentReading({
    containerd: null,
    importsLookPulled: true,
    clock: node.clock,
    onMissing: () => {},
  });
  const listed = detected(node);
  const originsBy = async (read: ContentReading) => {
    const { originOf } = await read(listed);
    return Object.fromEntries(listed.map(({ id, repoTags: [name = id] }) => [name, originOf(id)]));
  };
  expect(await originsBy(asked)).toEqual({ [PAUSE]: 'not-pulled', [NGINX]: 'unknown', own: 'not-pulled' });
  expect(await originsBy(notAsked)).toEqual({ [PAUSE]: 'unknown', [NGINX]: 'unknown', own: 'unknown' });
});
