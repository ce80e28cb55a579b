import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pulledImages } from '../../../packages/cri/containerd/image-layers.ts';
import { readImageContent } from '../../../packages/cri/containerd/layer-store.ts';
import type { StoredBlob } from '../../../packages/cri/containerd/reader.ts';
import { runtimeImage } from '../../fixtures/listing.ts';
import { runs } from '../../support/property-runs.ts';

const A = runtimeImage('a');
const [TAG = ''] = A.repoTags;
const [DIGEST = ''] = A.repoDigests;
const SOURCE = { 'containerd.io/distribution.source.registry.example': 'team/a' };
const OTHER_SOURCE = { 'containerd.io/distribution.source.registry.example': 'team/b' };

interface Blob {
  readonly at?: bigint | null;
  readonly labels?: Readonly<Record<string, string>>;
  readonly manifests?: readonly string[];
  readonly config?: string;
  readonly layers?: readonly string[];
}

interface Given {
  /** Targets by name. */
  readonly names: Readonly<Record<string, string>>;
  readonly blobs: Readonly<Record<string, Blob>>;
}

const numbered = (prefix: string, digests: readonly string[] = []) =>
  digests.map((digest, index) => [`containerd.io/gc.ref.content.${prefix}.${index}`, digest] as const);

const stored = ([digest, blob]: readonly [string, Blob]): StoredBlob => ({
  digest,
  sizeBytes: 1,
  createdAtNs: blob.at === undefined ? 1n : blob.at,
  labels: {
    ...Object.fromEntries([
      ...numbered('m', blob.manifests),
      ...(blob.config === undefined ? [] : [['containerd.io/gc.ref.content.config', blob.config] as const]),
      ...numbered('l', blob.layers),
    ]),
    ...blob.labels,
  },
});

async function isPulled({ names, blobs }: Given): Promise<boolean | undefined> {
  const containerd = {
    images: async () => Object.entries(names).map(([name, target]) => ({ name, target })),
    blobs: async () => Object.entries(blobs).map(stored),
    otherContainers: async () => [],
    leases: async () => [],
    ingests: async () => [],
    snapshots: async () => [],
    snapshotBytes: async () => 0,
  };
  const content = await readImageContent({ containerd, timeLeftMs: () => 1 });
  return pulledImages([A], content).get(A.id);
}

/** A manifest with its configuration and a layer, as a pull leaves them. */
const pulled = (manifest: string, layer = `${manifest}-layer`): Given['blobs'] => ({
  [manifest]: { at: 1n, config: `${manifest}-config`, layers: [layer], labels: SOURCE },
  [`${manifest}-config`]: { at: 2n, labels: SOURCE },
  [layer]: { at: 3n, labels: SOURCE },
});

/** The same as an import leaves them: the archive has the manifest last. */
const imported = (manifest: string, layer = `${manifest}-layer`): Given['blobs'] => ({
  [manifest]: { at: 3n, config: `${manifest}-config`, layers: [layer] },
  [`${manifest}-config`]: { at: 2n },
  [layer]: { at: 1n },
});

const labelled = (
  blobs: Given['blobs'],
  labels: Readonly<Record<string, Readonly<Record<string, string>>>>,
) =>
  Object.fromEntries(
    Object.entries(blobs).map(([digest, blob]) => [digest, { ...blob, labels: labels[digest] ?? {} }]),
  );

test.each<{ name: string; given: Given; expected: boolean | undefined }>([
  {
    name: 'one with a pulled manifest was pulled',
    given: { names: { [TAG]: 'manifest' }, blobs: pulled('manifest') },
    expected: true,
  },
  {
    name: 'one with a pulled index, of which this platform’s manifest alone is there, was pulled',
    given: {
      names: { [TAG]: 'index' },
      blobs: {
        ...pulled('manifest'),
        index: { at: 0n, manifests: ['manifest', 'of-another-platform'], labels: SOURCE },
      },
    },
    expected: true,
  },
  {
    name: 'one that has it under its id alone was pulled',
    given: { names: { [A.id]: 'manifest' }, blobs: pulled('manifest') },
    expected: true,
  },
  {
    name: 'one that has it under one of its names was pulled',
    given: {
      names: { [TAG]: 'own', [DIGEST]: 'manifest' },
      blobs: { ...pulled('manifest'), ...imported('own') },
    },
    expected: true,
  },
  {
    name: 'one that was pulled from two repositories was pulled',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(pulled('manifest'), {
        manifest: SOURCE,
        'manifest-config': { 'containerd.io/distribution.source.registry.example': 'team/a,team/b' },
      }),
    },
    expected: true,
  },
  {
    name: 'one whose layer was there before the pull was pulled',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: { ...pulled('manifest', 'layer'), layer: { at: 0n } },
    },
    expected: true,
  },
  {
    name: 'one whose manifest was imported was not, also under a name with a digest',
    given: { names: { [TAG]: 'manifest', [DIGEST]: 'manifest' }, blobs: imported('manifest') },
    expected: false,
  },
  {
    name: 'one whose manifest was imported and given the label of a pull was not',
    given: {
      names: { [TAG]: 'manifest', [DIGEST]: 'manifest' },
      blobs: labelled(imported('manifest'), { manifest: SOURCE }),
    },
    expected: false,
  },
  {
    name: 'one whose manifest was imported before its configuration, and given the label, was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(pulled('manifest'), { manifest: SOURCE }),
    },
    expected: false,
  },
  {
    name: 'one whose manifest and layers have the label, and whose configuration lacks it, was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(pulled('manifest'), { manifest: SOURCE, 'manifest-layer': SOURCE }),
    },
    expected: false,
  },
  {
    name: 'one whose index alone has the label was not',
    given: {
      names: { [TAG]: 'index' },
      blobs: {
        ...labelled(pulled('manifest'), {}),
        index: { at: 0n, manifests: ['manifest'], labels: SOURCE },
      },
    },
    expected: false,
  },
  {
    name: 'one of which everything has the label, and whose configuration was there before the manifest, was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(imported('manifest'), {
        manifest: SOURCE,
        'manifest-config': SOURCE,
        'manifest-layer': SOURCE,
      }),
    },
    expected: false,
  },
  {
    name: 'one whose parts name different repositories was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(pulled('manifest'), { manifest: SOURCE, 'manifest-config': OTHER_SOURCE }),
    },
    expected: false,
  },
  {
    name: 'one whose label names no repository was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: labelled(pulled('manifest'), {
        manifest: { 'containerd.io/distribution.source.registry.example': '' },
        'manifest-config': { 'containerd.io/distribution.source.registry.example': '' },
      }),
    },
    expected: false,
  },
  {
    name: 'one of which containerd does not say when it came was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: { ...pulled('manifest'), 'manifest-config': { at: null, labels: SOURCE } },
    },
    expected: false,
  },
  {
    name: 'one without its configuration was not',
    given: {
      names: { [TAG]: 'manifest' },
      blobs: { manifest: { at: 1n, config: 'config', labels: SOURCE } },
    },
    expected: false,
  },
  {
    name: 'an imported one that shares a layer with a pulled one was not',
    given: {
      names: { [TAG]: 'manifest', other: 'pulled' },
      blobs: { ...imported('manifest', 'layer'), ...pulled('pulled', 'layer') },
    },
    expected: false,
  },
  {
    name: 'of one of which containerd has no name it is not known',
    given: { names: { other: 'manifest' }, blobs: pulled('manifest') },
    expected: undefined,
  },
  {
    name: 'of one whose manifest is gone it is not known',
    given: { names: { [TAG]: 'manifest' }, blobs: { layer: { labels: SOURCE } } },
    expected: undefined,
  },
])('[M12] $name', async ({ given, expected }) => {
  expect(await isPulled(given)).toBe(expected);
});

test('[M12] property: an import counts as none of a pull, whichever of its parts get the label, unless all have it in a pull’s order', async () => {
  const part = fc.record({ at: fc.bigInt({ min: 0n, max: 5n }), hasLabel: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(part, part, part, async (manifest, config, layer) => {
      const labelsOf = ({ hasLabel }: { readonly hasLabel: boolean }) => (hasLabel ? SOURCE : {});
      const looksPulled = manifest.hasLabel && config.hasLabel && manifest.at <= config.at;
      const blobs = {
        manifest: { at: manifest.at, config: 'config', layers: ['layer'], labels: labelsOf(manifest) },
        config: { at: config.at, labels: labelsOf(config) },
        layer: { at: layer.at, labels: labelsOf(layer) },
      };
      expect(await isPulled({ names: { [TAG]: 'manifest' }, blobs })).toBe(looksPulled);
    }),
    runs(200),
  );
});
