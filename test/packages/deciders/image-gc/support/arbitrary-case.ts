import fc from 'fast-check';
import type { ImageGcMode } from '../../../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory, InventoryImage } from '../../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../../schemas/events/reclaim.ts';
import type { Policy, PolicyKeep } from '../../../../../schemas/policy/policy.ts';
import { arbitraryNode, arbitraryPolicy, shuffled } from '../../../../fixtures/arbitrary-node.ts';
import { filesystems } from '../../../../fixtures/filesystems.ts';
import { image } from '../../../../fixtures/inventory.ts';
import { keepList } from '../../../../fixtures/policy.ts';
import { reclaim } from '../../../../fixtures/reclaim.ts';
import { instant, NOW, SECOND } from '../../../../fixtures/time.ts';

/** A node, a policy of either profile, and what images are asked to go for. */
export interface Case {
  readonly given: CompleteInventory;
  readonly settings: Policy;
  readonly mode: ImageGcMode;
}

const ordered = (signal: string, reading: string, target: Partial<Reclaim['target']> = {}): Reclaim =>
  reclaim({
    cause: { ...reclaim().cause, signal, reading },
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '300', ...target },
  });

const inodes = { resource: 'inodesFree', atLeast: '950' } as const;
const asked = fc.constantFrom<Pick<Case, 'mode'> & { readonly reclaim: Reclaim | null }>(
  { mode: 'age', reclaim: null },
  { mode: 'periodic', reclaim: null },
  { mode: 'usage', reclaim: null },
  { mode: 'usage', reclaim: ordered('imageGC', '90%') },
  { mode: 'usage', reclaim: ordered('imageGCAvailable', '10') },
  { mode: 'usage', reclaim: ordered('imageGCInodes', '95%', inodes) },
  { mode: 'forced', reclaim: null },
  { mode: 'forced', reclaim: ordered('imagefs.available', '10') },
  { mode: 'forced', reclaim: ordered('imagefs.inodesFree', '10', inodes) },
);

/** Some images share a repository, so that it has versions; some have no registry in their name. */
const repositories = ['registry.example/app', 'registry.example/other', 'localhost/own'] as const;
const renamed = (image: InventoryImage, index: number): InventoryImage => {
  const repository = repositories[index % repositories.length] ?? '';
  return {
    ...image,
    repoTags: [...image.repoTags, `${repository}:v${index}`],
    repoDigests: image.repoDigests.map((name) => name.replace(/^.*@/, `${repository}@`)),
  };
};

/** Images that may go unless something is said of them, so that most cases remove something. */
const oldImages = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 }).map((sizes) =>
  sizes.map((sizeBytes, index) =>
    image(`old-${index}`, {
      sizeBytes,
      firstDetectedMs: NOW - 30 * SECOND,
      lastUsedMs: index === 0 ? null : NOW - (20 - index) * SECOND,
    }),
  ),
);

const keep: fc.Arbitrary<PolicyKeep> = fc.record({
  patterns: fc.constantFrom<string[]>([], [], ['registry.example/image-1?']),
  labels: fc.constantFrom<Record<string, string>>({}, { keep: 'yes' }),
  digests: fc.constant([]),
  namespaces: fc.constantFrom<string[]>([], [], ['default']),
  unpullable: fc.boolean(),
  lastVersions: fc.constantFrom(0, 0, 1, 2),
});

const settings: fc.Arbitrary<Policy> = fc
  .record({
    base: arbitraryPolicy,
    profile: fc.constantFrom<Policy['profile']>('fleetgc', 'kubelet'),
    imageMaximumGCAgeMs: fc.constantFrom(0, 1, 2, 3, 5).map((seconds) => seconds * SECOND),
    imageGCHighThresholdPercent: fc.constantFrom(50, 85, 100),
    keep,
    own: fc.boolean(),
  })
  .map(({ base, own, ...overrides }) => ({
    ...base,
    ...overrides,
    imageGCLowThresholdPercent: 40,
    ...(own && {
      imageGCAvailable: { startBelowBytes: '200', untilBytes: '300' },
      imageGCInodes: { highThresholdPercent: 50, lowThresholdPercent: 5 },
    }),
  }));

export const arbitraryCase: fc.Arbitrary<Case> = fc
  .record({
    node: arbitraryNode,
    oldImages,
    settings,
    asked,
    sinceStart: fc.constantFrom(0, 3, 5, 8, 9),
    watchedFor: fc.constantFrom(null, 2, 4, 8, 60),
    inodesFree: fc.integer({ min: 0, max: 1_000 }),
  })
  .map(({ node, asked: { mode, reclaim: order }, sinceStart, watchedFor, inodesFree, ...others }) => ({
    mode,
    settings: others.settings,
    given: {
      ...node,
      reclaim: order,
      images: [...node.images, ...others.oldImages].map(renamed),
      imagesWatchedSinceMs: watchedFor === null ? null : NOW - watchedFor * SECOND,
      agentStartedAt: instant({ sinceBootMs: instant().sinceBootMs - sinceStart * SECOND }),
      filesystems: filesystems({
        availableBytes: node.filesystems.imagefs?.availableBytes ?? '0',
        inodesFree: String(inodesFree),
      }),
    },
  }));

/** A case, and the same one with its lists in another order. */
export const caseTwice: fc.Arbitrary<readonly [Case, Case]> = arbitraryCase.chain((one) =>
  shuffled(one.given).map((given) => [one, { ...one, given }] as const),
);

/** Every keep rule off. */
export const KEEP_NOTHING = keepList({ unpullable: false });
