import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CompleteInventory, ImageUser } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { decide } from '../../../services/image-gc/decide.ts';
import { type ImageGcMode, planImages } from '../../../services/image-gc/plan-images.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { keepList, policy } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { instant, NOW } from '../../fixtures/time.ts';
import { runs } from '../../support/property-runs.ts';
import {
  type ReferenceNode,
  type ReferenceOptions,
  referenceForced,
  referencePass,
} from './support/reference-kubelet.ts';

/** Few seconds for everything, so that equal times and ages at a limit are common. */
const ago = fc.integer({ min: 0, max: 8 }).map((seconds) => NOW - seconds * 1_000);
const ageMs = fc.integer({ min: -1, max: 6 }).map((seconds) => seconds * 1_000);

interface Case {
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

const cases: fc.Arbitrary<Case> = fc.record({
  node,
  options,
  others: fc.array(fc.constantFrom('pod', 'sandbox', 'sandbox-image'), { maxLength: 14 }),
});

/** The same node as an agent tells it. */
const told = ({ node: given, others }: Case): CompleteInventory =>
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

const configured = ({ options: { high, low, minAge, maxAge } }: Case): Policy =>
  policy({
    profile: 'kubelet',
    keep: keepList({ unpullable: false }),
    imageGCHighThresholdPercent: high,
    imageGCLowThresholdPercent: low,
    imageMinimumGCAgeMs: minAge,
    imageMaximumGCAgeMs: maxAge,
  });

const planned = (given: Case, mode: ImageGcMode): string[] =>
  planImages(told(given), configured(given), mode).removals.map(({ image: { id } }) => id);

const compare = (check: (given: Case) => void) => fc.assert(fc.property(cases, check), runs(5_000));

test('[D3, D6, D7, D8, D9, D10, D11, D12, D13, E3, E7] a pass of the profile kubelet is that of the kubelet', () => {
  compare((given) => {
    const { age, usage } = referencePass(given.node, given.options);
    expect(planned(given, 'periodic')).toEqual([...age, ...usage]);
  });
});

test('[E1, E2, E3, E4, E5] so is its removal by age', () => {
  compare((given) => {
    expect(planned(given, 'age')).toEqual(referencePass(given.node, given.options).age);
  });
});

test('[F1, F2, F3, J22] and what it removes when forced', () => {
  compare((given) => {
    expect(planned(given, 'forced')).toEqual(referenceForced(given.node, given.options));
  });
});

test('[D6, D12, P5] a reclaim that such a disk begins goes the same way, as far as a command may', () => {
  let begun = 0;
  compare((given) => {
    const { capacity: bytes, available } = given.node;
    const { usage } = referencePass(given.node, { ...given.options, maxAge: 0 });
    if (usage.length === 0) return;
    begun += 1;
    const atLeast = String(Math.floor((bytes * (100 - given.options.low)) / 100));
    const reading = `${100 - Math.floor((available * 100) / bytes)}%`;
    const ordered = reclaim({
      cause: { ...reclaim().cause, reading },
      target: { ...reclaim().target, atLeast },
    });
    const inventoried = told(given);
    // No command holds what failed lately (M33).
    const images = inventoried.images.map((one) => ({ ...one, backoff: null }));
    const { items } = decide({ ...inventoried, images, reclaim: ordered }, configured(given));
    const most = Math.max(1, Math.floor(given.node.images.length / 2));
    expect(items.map(({ id }) => id)).toEqual(usage.slice(0, most));
  });
  expect(begun).toBeGreaterThanOrEqual(runs(1_000).numRuns);
});
