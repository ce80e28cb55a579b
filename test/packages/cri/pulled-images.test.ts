import { expect, test } from 'vitest';
import type { ImageContent } from '../../../packages/cri/containerd/layer-store.ts';
import { pulledImages } from '../../../packages/cri/containerd/pulled-images.ts';
import { runtimeImage } from '../../fixtures/listing.ts';

const A = runtimeImage('a');
const [TAG = ''] = A.repoTags;
const [DIGEST = ''] = A.repoDigests;

interface Given {
  /** Targets by name. */
  readonly names: Readonly<Record<string, string>>;
  readonly pulled: readonly string[];
  readonly imported?: readonly string[];
}

const content = ({ names, pulled, imported = [] }: Given): ImageContent => ({
  images: Object.entries(names).map(([name, target]) => ({ name, target })),
  blobs: new Map(
    [...pulled, ...imported].map((digest) => [
      digest,
      { sizeBytes: 1, isPulled: pulled.includes(digest), content: ['layer'], snapshots: [] },
    ]),
  ),
});

test.each<{ name: string; given: Given; isPulled: boolean | undefined }>([
  {
    name: 'one with a pulled manifest or index was pulled',
    given: { names: { [TAG]: 'manifest' }, pulled: ['manifest'] },
    isPulled: true,
  },
  {
    name: 'one that has it under its id alone was pulled',
    given: { names: { [A.id]: 'manifest' }, pulled: ['manifest'] },
    isPulled: true,
  },
  {
    name: 'one that has it under one of its names was pulled',
    given: {
      names: { [TAG]: 'own', [DIGEST]: 'manifest' },
      pulled: ['manifest'],
      imported: ['own'],
    },
    isPulled: true,
  },
  {
    name: 'one whose manifest was imported was not, also under a name with a digest',
    given: { names: { [TAG]: 'manifest', [DIGEST]: 'manifest' }, pulled: [], imported: ['manifest'] },
    isPulled: false,
  },
  {
    name: 'an imported one that shares a layer with a pulled one was not',
    given: {
      names: { [TAG]: 'manifest', other: 'pulled' },
      pulled: ['pulled', 'layer'],
      imported: ['manifest'],
    },
    isPulled: false,
  },
  {
    name: 'of one of which containerd has no name it is not known',
    given: { names: { other: 'manifest' }, pulled: ['manifest'] },
    isPulled: undefined,
  },
  {
    name: 'of one whose manifest is gone it is not known',
    given: { names: { [TAG]: 'manifest' }, pulled: ['layer'] },
    isPulled: undefined,
  },
])('[M12] $name', ({ given, isPulled }) => {
  expect(pulledImages([A], content(given)).get(A.id)).toBe(isPulled);
});
