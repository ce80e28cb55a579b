import { expect, test } from 'vitest';
import { otherUsesIn } from '../../../packages/cri/containerd/other-uses.ts';
import type {
  ContainerdReader,
  StoredBlob,
  StoredContainer,
  StoredSnapshot,
} from '../../../packages/cri/containerd/reader.ts';
import type { OtherUse } from '../../../packages/cri/port.ts';
import { imageUsage } from '../../../packages/cri/usage.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { completeListing, digestOf, runtimeImage } from '../../fixtures/listing.ts';

const [A, B] = [runtimeImage('a'), runtimeImage('b')];
const [NAME_OF_A, NAME_OF_B] = [A.repoTags[0] ?? '', B.repoTags[0] ?? ''];
const SNAPSHOTTER = 'overlayfs';

const blob = (digest: string, content: readonly string[], snapshot?: string): StoredBlob => ({
  digest,
  sizeBytes: 1,
  createdAtNs: null,
  labels: {
    ...Object.fromEntries(content.map((held, index) => [`containerd.io/gc.ref.content.${index}`, held])),
    ...(snapshot !== undefined && { [`containerd.io/gc.ref.snapshot.${SNAPSHOTTER}`]: snapshot }),
  },
});

const manifestOf = (name: string): string => digestOf(`${name} manifest`);
const layerOf = (name: string): string => digestOf(`${name} layer`);
const COMMON_LAYER = digestOf('common layer');

/** Both images have the lower layer in common, and each has one of its own on top. */
const BLOBS = ['a', 'b'].flatMap((name) => [
  blob(manifestOf(name), [digestOf(name), COMMON_LAYER, layerOf(name)]),
  blob(digestOf(name), [], `top of ${name}`),
  blob(layerOf(name), []),
]);

const committed = (name: string, parent: string): StoredSnapshot => ({ name, parent, isInUse: false });
const active = (name: string, parent: string): StoredSnapshot => ({ name, parent, isInUse: true });
const UNPACKED = [committed('common', ''), committed('top of a', 'common'), committed('top of b', 'common')];

const containerd = (over: Partial<ContainerdReader> = {}): ContainerdReader => ({
  images: async () => [
    { name: NAME_OF_A, target: manifestOf('a') },
    { name: NAME_OF_B, target: manifestOf('b') },
  ],
  blobs: async () => BLOBS,
  snapshots: async () => UNPACKED,
  snapshotBytes: async () => 1,
  otherContainers: async () => [],
  leases: async () => [],
  ingests: async () => [],
  ...over,
});

const usesOf = (over: Partial<ContainerdReader>, idsInCri: readonly string[] = []) =>
  otherUsesIn(containerd(over), () => 0)([A, B], new Set(idsInCri));

/** By name, who uses the listed images beside CRI. */
async function users(over: Partial<ContainerdReader>, idsInCri: readonly string[] = []) {
  const otherUses: readonly OtherUse[] = await usesOf(over, idsInCri);
  const usage = imageUsage(completeListing({ images: [A, B], otherUses }), []);
  const by = (id: string) => (usage.users.get(id) ?? []).map((user) => `${user.kind} ${user.id}`);
  return { a: by(A.id), b: by(B.id) };
}

const container = (over: Partial<StoredContainer> = {}): StoredContainer => ({
  id: 'c',
  image: '',
  snapshotter: SNAPSHOTTER,
  snapshotKey: 'c',
  ...over,
});

test('where nobody does anything nobody uses anything', async () => {
  expect(await users({})).toEqual({ a: [], b: [] });
});

test.each<{ name: string; given: Partial<ContainerdReader>; inUse: Awaited<ReturnType<typeof users>> }>([
  {
    name: '[K2] a container by the name of its image',
    given: { otherContainers: async () => [container({ image: NAME_OF_A })] },
    inUse: { a: ['container c'], b: [] },
  },
  {
    name: '[K2] a container by its snapshot, where its name is not there any more',
    given: {
      otherContainers: async () => [container({ image: 'registry.example/gone:1' })],
      snapshots: async () => [...UNPACKED, active('c', 'top of a')],
    },
    inUse: { a: ['container c'], b: [] },
  },
  {
    name: '[K2] a container by its snapshot and by its name, where the tag has moved',
    given: {
      otherContainers: async () => [container({ image: NAME_OF_B })],
      snapshots: async () => [...UNPACKED, active('c', 'top of a')],
    },
    inUse: { a: ['container c'], b: ['container c'] },
  },
  {
    name: '[K2] a container by any version of its repository, where nothing else tells',
    given: { otherContainers: async () => [container({ image: 'registry.example/team/a:2' })] },
    inUse: { a: ['container c'], b: [] },
  },
  {
    name: 'a snapshot that somebody writes',
    given: {
      snapshots: async () => [...UNPACKED, active('mount', 'between'), committed('between', 'top of b')],
    },
    inUse: { a: [], b: ['snapshot mount'] },
  },
  {
    name: 'a lease on a manifest',
    given: { leases: async () => [{ id: 'l', resources: [{ type: 'content', id: manifestOf('a') }] }] },
    inUse: { a: ['lease l'], b: [] },
  },
  {
    name: 'a lease on a configuration',
    given: { leases: async () => [{ id: 'l', resources: [{ type: 'content', id: A.id }] }] },
    inUse: { a: ['lease l'], b: [] },
  },
  {
    name: 'a lease on what an image was unpacked to',
    given: {
      leases: async () => [{ id: 'l', resources: [{ type: 'snapshots/overlayfs', id: 'top of b' }] }],
    },
    inUse: { a: [], b: ['lease l'] },
  },
  {
    name: 'a pull that fetches a layer, also one that is not there',
    given: { ingests: async () => [`layer-${layerOf('a')}`] },
    inUse: { a: [`ingest layer-${layerOf('a')}`], b: [] },
  },
  {
    name: 'a pull that fetches what both have',
    given: { ingests: async () => [`layer-${COMMON_LAYER}`] },
    inUse: { a: [`ingest layer-${COMMON_LAYER}`], b: [`ingest layer-${COMMON_LAYER}`] },
  },
])('in use: $name', async ({ given, inUse }) => {
  expect(await users(given)).toEqual(inUse);
});

test.each<{ name: string; given: Partial<ContainerdReader>; idsInCri?: readonly string[] }>([
  {
    name: 'the snapshot of a container that CRI lists, which CRI tells the image of',
    given: { snapshots: async () => [...UNPACKED, active('listed', 'top of a')] },
    idsInCri: ['listed'],
  },
  {
    name: 'what stands on layers alone that several images have',
    given: { snapshots: async () => [...UNPACKED, active('mount', 'common')] },
  },
  {
    name: 'a lease on a layer, which it keeps by itself',
    given: { leases: async () => [{ id: 'l', resources: [{ type: 'content', id: COMMON_LAYER }] }] },
  },
  { name: 'a container without an image', given: { otherContainers: async () => [container()] } },
  {
    name: 'snapshots that name each other as parents',
    given: { snapshots: async () => [active('x', 'y'), committed('y', 'z'), committed('z', 'y')] },
  },
])('not in use by $name', async ({ given, idsInCri }) => {
  expect(await users(given, idsInCri)).toEqual({ a: [], b: [] });
});

const METHODS = ['images', 'blobs', 'snapshots', 'otherContainers', 'leases', 'ingests'] as const;

test.each(METHODS)('what cannot be read of %s is an error, not "nobody"', async (method) => {
  const failing = { [method]: () => Promise.reject(new FleetGcError('RUNTIME_TIMEOUT', 'no answer')) };
  await expect(usesOf(failing)).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
});

const unsupported = () => Promise.reject(new FleetGcError('RUNTIME_UNSUPPORTED', 'unknown service'));

test('a runtime without the API of containerd tells of nobody', async () => {
  expect(await usesOf({ images: unsupported })).toEqual([]);
});

test.each(METHODS.slice(2))('a containerd without %s is an error: it has the API', async (method) => {
  await expect(usesOf({ [method]: unsupported })).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' });
});

test('a runtime that answered once has the API, whatever it says later', async () => {
  let images = containerd().images;
  const read = otherUsesIn(containerd({ images: (ms) => images(ms) }), () => 0);
  expect(await read([A, B], new Set())).toEqual([]);
  images = unsupported;
  await expect(read([A, B], new Set())).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' });
});
