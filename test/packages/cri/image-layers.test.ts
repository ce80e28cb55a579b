import { expect, test } from 'vitest';
import { layersHeld } from '../../../packages/cri/containerd/image-layers.ts';
import type { LayerStore } from '../../../packages/cri/containerd/layer-store.ts';
import { contentOwners } from '../../../packages/cri/containerd/other-uses.ts';
import { runtimeImage } from '../../fixtures/listing.ts';

/** Blobs by name, with the names of blobs and snapshots that they keep. */
type Blobs = Readonly<Record<string, { readonly content?: string[]; readonly snapshot?: string }>>;

const store = (
  images: Readonly<Record<string, string>>,
  blobs: Blobs,
  parents: Readonly<Record<string, string>> = {},
): LayerStore => ({
  images: Object.entries(images).map(([name, target]) => ({ name, target })),
  blobs: new Map(
    Object.entries(blobs).map(([digest, { content = [], snapshot }]) => [
      digest,
      {
        sizeBytes: 1,
        createdAtNs: null,
        sources: [],
        content,
        layers: [],
        snapshots: snapshot === undefined ? [] : [{ snapshotter: 'overlayfs', name: snapshot }],
      },
    ]),
  ),
  parents: new Map([['overlayfs', new Map(Object.entries(parents))]]),
});

const [A, B] = [runtimeImage('a'), runtimeImage('b')];
const NAME_OF_A = A.repoTags[0] ?? '';
const NAME_OF_B = B.repoTags[0] ?? '';

/** The layers of image a, sorted; `undefined` when they are not known. */
const layersOfA = (given: LayerStore, listed = [A, B]): readonly string[] | undefined =>
  layersHeld(listed, given)
    .get(A.id)
    ?.map(({ kind, digest }) => `${kind} ${digest}`)
    .toSorted();

const UNPACKED: Blobs = {
  manifest: { content: ['config', 'layer'] },
  config: { snapshot: 'top' },
  layer: {},
};
const CHAIN = { top: 'bottom', bottom: '' };

test.each<{ name: string; given: LayerStore; layers: readonly string[] | undefined }>([
  {
    name: 'packed and unpacked, down to the lowest snapshot',
    given: store({ [NAME_OF_A]: 'manifest' }, UNPACKED, CHAIN),
    layers: ['blob layer', 'snapshot bottom', 'snapshot top'],
  },
  {
    name: 'under its id alone',
    given: store({ [A.id]: 'manifest' }, UNPACKED, CHAIN),
    layers: ['blob layer', 'snapshot bottom', 'snapshot top'],
  },
  {
    name: 'unpacked alone, once packed blobs were discarded',
    given: store({ [NAME_OF_A]: 'manifest' }, { ...UNPACKED, manifest: { content: ['config'] } }, CHAIN),
    layers: ['snapshot bottom', 'snapshot top'],
  },
  {
    name: 'of the platform that is there, of an index with several',
    given: store(
      { [NAME_OF_A]: 'index' },
      { ...UNPACKED, index: { content: ['manifest', 'other platform'] } },
      CHAIN,
    ),
    layers: ['blob layer', 'snapshot bottom', 'snapshot top'],
  },
  {
    name: 'without snapshots, that nobody unpacked',
    given: store({ [NAME_OF_A]: 'manifest' }, UNPACKED),
    layers: ['blob layer'],
  },
  {
    name: 'each once, of two names with something in common',
    given: store(
      { [NAME_OF_A]: 'manifest', [A.repoDigests[0] ?? '']: 'other' },
      { ...UNPACKED, other: { content: ['layer', 'another'] }, another: {} },
      CHAIN,
    ),
    layers: ['blob another', 'blob layer', 'snapshot bottom', 'snapshot top'],
  },
  {
    name: 'not known, of an image that containerd does not have',
    given: store({}, UNPACKED),
    layers: undefined,
  },
  {
    name: 'not known, of an image of which nothing is there',
    given: store({ [NAME_OF_A]: 'manifest' }, {}),
    layers: undefined,
  },
  {
    name: 'with an end, where a snapshot is its own ancestor',
    given: store(
      { [NAME_OF_A]: 'config' },
      { config: { snapshot: 'top' } },
      { top: 'bottom', bottom: 'top' },
    ),
    layers: ['snapshot bottom', 'snapshot top'],
  },
])('[M7] the layers of an image: $name', ({ given, layers }) => {
  expect(layersOfA(given)).toEqual(layers);
});

const SHARED: Blobs = { ...UNPACKED, manifestB: { content: ['layer', 'own'] }, own: {} };

test('[M7] what listed images have in common belongs to each', () => {
  const given = store({ [NAME_OF_A]: 'manifest', [NAME_OF_B]: 'manifestB' }, SHARED, CHAIN);
  expect(layersOfA(given)).toContain('blob layer');
  expect(layersHeld([A, B], given).get(B.id)).toHaveLength(2);
});

test('[M7] what an image holds that CRI does not list is no layer of others: it stays when they go', () => {
  const given = store({ [NAME_OF_A]: 'manifest', 'elsewhere:1': 'manifestB' }, SHARED, CHAIN);
  expect(layersOfA(given)).toEqual(['snapshot bottom', 'snapshot top']);
});

test('[M7] a name of a listed image that CRI does not list yet takes nothing from it', () => {
  const given = store({ [NAME_OF_A]: 'manifest', 'just-tagged:1': 'manifest' }, UNPACKED, CHAIN);
  expect(layersOfA(given)).toContain('blob layer');
});

test('content that refers to content twenty thousand deep is gone through to its end', () => {
  const depth = 20_000;
  const blobs: Blobs = Object.fromEntries(
    Array.from({ length: depth }, (_, level) => [
      level === 0 ? 'manifest' : `index-${level}`,
      level + 1 === depth ? {} : { content: [`index-${level + 1}`] },
    ]),
  );
  const given = store({ [NAME_OF_A]: 'manifest' }, blobs);

  expect(layersOfA(given)).toEqual([`blob index-${depth - 1}`]);
  expect([...contentOwners([A], given).ofBlob(`index-${depth - 1}`)]).toEqual([A.id]);
});
