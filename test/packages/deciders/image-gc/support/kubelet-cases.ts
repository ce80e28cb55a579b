import fc from 'fast-check';
import type { CompleteInventory, ImageUser } from '../../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../../fixtures/filesystems.ts';
import { container, image, inventory } from '../../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../../fixtures/policy.ts';
import { instant, NOW } from '../../../../fixtures/time.ts';
import type { ReferenceNode, ReferenceOptions } from './reference-kubelet.ts';

/** Few seconds for everything, so that equal times and ages at a limit are common. */
const ago = fc.integer({ min: 0, max: 8 }).map((seconds) => NOW - seconds * 1_000);
const ageMs = fc.integer({ min: -1, max: 6 }).map((seconds) => seconds * 1_000);

export interface KubeletCase {
  readonly node: ReferenceNode;
  readonly options: ReferenceOptions;
  /** Pods, sandboxes and others that use an image, which the kubelet does not ask. */
  readonly others: readonly ImageUser['kind'][];
}

const someImage = fc.record({
  size: fc.integer({ min: 0, max: 60 }),
  pinned: fc.integer({ max: 5, min: 0 }).map((chance) => chance === 0),
  firstDetected: ago,
  lastUsed: fc.option(ago, { nil: 0 }),
});

const capacity = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 1_000 }), weight: 9 },
  { arbitrary: fc.constant(0), weight: 1 },
);

const node: fc.Arbitrary<ReferenceNode> = fc
  .record({
    images: fc.array(someImage, { maxLength: 14 }),
    containers: fc.array(fc.nat(20), { maxLength: 4 }),
    beganGc: fc.integer({ min: 0, max: 12 }).map((seconds) => NOW - seconds * 1_000),
    disk: capacity.chain((bytes) => fc.tuple(fc.constant(bytes), fc.integer({ min: 0, max: bytes }))),
  })
  .map(({ images, containers, beganGc, disk: [bytes, available] }) => ({
    images: images.map((fields, index) => ({ id: `image-${index}`, ...fields })),
    containerImages: containers.map((index) => `image-${index}`),
    now: NOW,
    beganGc,
    capacity: bytes,
    available,
  }));

const percent = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(0, 100));
const options: fc.Arbitrary<ReferenceOptions> = fc
  .record({ high: percent, lower: percent, minAge: ageMs, maxAge: ageMs.map((age) => Math.max(0, age)) })
  .map(({ high, lower, ...ages }) => ({ high, low: Math.min(lower, Math.max(0, high - 1)), ...ages }));

export const kubeletCases: fc.Arbitrary<KubeletCase> = fc.record({
  node,
  options,
  others: fc.array(fc.constantFrom('pod', 'sandbox', 'sandbox-image'), { maxLength: 14 }),
});

/** The same node as an agent tells it. */
export const told = ({ node: given, others }: KubeletCase): CompleteInventory =>
  inventory({
    agentStartedAt: instant({ sinceBootMs: instant().sinceBootMs - (NOW - given.beganGc) }),
    sandboxImageKnown: false,
    podImagesKnown: false,
    filesystems: filesystems({
      capacityBytes: String(given.capacity),
      availableBytes: String(given.available),
    }),
    containers: given.containerImages.map((imageId, index) => container(`container-${index}`, { imageId })),
    images: given.images.map(({ id, size, pinned, firstDetected, lastUsed }, index) => {
      const other = others[index];
      return image(id, {
        sizeBytes: size,
        pinned,
        firstDetectedMs: firstDetected,
        lastUsedMs: lastUsed === 0 ? null : lastUsed,
        repoDigests: [],
        usedBy: other === undefined ? [] : [{ kind: other, id: 'somebody' }],
        backoff: { failures: 1, untilMs: NOW + 1 },
      });
    }),
  });

export const configured = ({ options: { high, low, minAge, maxAge } }: KubeletCase): Policy =>
  policy({
    profile: 'kubelet',
    keep: keepList({ unpullable: false }),
    imageGCHighThresholdPercent: high,
    imageGCLowThresholdPercent: low,
    imageMinimumGCAgeMs: minAge,
    imageMaximumGCAgeMs: maxAge,
  });
