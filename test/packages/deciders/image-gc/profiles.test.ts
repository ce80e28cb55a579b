import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { container, image, inventory, sandbox } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';

/** What a policy file with this profile means when it says nothing else. */
const DEFAULTS: Readonly<Record<Policy['profile'], Partial<Policy>>> = {
  fleetgc: { profile: 'fleetgc' },
  kubelet: { profile: 'kubelet', keep: keepList({ unpullable: false }) },
};
const USED = Array.from({ length: 10 }, (_, index) =>
  image(`used-${index}`, { usedBy: [{ kind: 'container', id: 'c' }] }),
);

const decided = (
  profile: Policy['profile'],
  images: readonly InventoryImage[],
  facts: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) =>
  decide(
    inventory({ images: [...images, ...USED], reclaim: reclaim(), ...facts }),
    policy({ ...DEFAULTS[profile], ...settings }),
  );

const both = (
  ...[images, facts, settings]: Parameters<typeof decided> extends [unknown, ...infer R] ? R : never
) => {
  const removed = (profile: Policy['profile']) =>
    decided(profile, images, facts, settings).items.map(({ id }) => id);
  return { fleetgc: removed('fleetgc'), kubelet: removed('kubelet') };
};

/** Both outcomes on the same inventory: `a` goes under the kubelet's profile alone. */
const KUBELET_ONLY = { fleetgc: [], kubelet: ['a'] };

describe('an image goes under the profile kubelet alone', () => {
  test.each<{ name: string; given: Partial<InventoryImage> }>([
    {
      name: '[C10, M5] that a pod wants whose containers do not exist yet',
      given: { usedBy: [{ kind: 'pod', id: 'pod-9' }] },
    },
    { name: '[C10, M9] of a sandbox', given: { usedBy: [{ kind: 'sandbox', id: 's' }] } },
    {
      name: '[C11, M9] that is configured as the sandbox image',
      given: { usedBy: [{ kind: 'sandbox-image', id: 'registry.example/pause:3' }] },
    },
    { name: '[M11] without a digest', given: { repoDigests: [] } },
    {
      name: '[M11] without a registry in its name',
      given: { repoDigests: [`localhost/a@sha256:${'a'.repeat(64)}`] },
    },
    { name: '[M12] that this node did not pull', given: { origin: 'not-pulled' } },
    { name: '[M12] of which nobody knows whether it was pulled', given: { origin: 'unknown' } },
  ])('$name', ({ given }) => {
    expect(both([image('a', given)])).toEqual(KUBELET_ONLY);
  });

  test.each<{ name: string; facts: Partial<CompleteInventory> }>([
    { name: '[C11, M9] when the sandbox image is not known', facts: { sandboxImageKnown: false } },
    { name: '[C10, M5] when it is not known what pods want', facts: { podImagesKnown: false } },
  ])('$name', ({ facts }) => {
    expect(both([image('a')], facts)).toEqual(KUBELET_ONLY);
  });
});

describe('in both profiles an image stays', () => {
  test.each<{ name: string; given: Partial<InventoryImage>; rules: readonly string[] }>([
    {
      name: '[C8, K2] of a container in any state',
      given: { usedBy: [{ kind: 'container', id: 'c' }] },
      rules: ['C8', 'C8'],
    },
    {
      name: '[C8, M41] that only a container uses which the kubelet did not create',
      given: { usedBy: [{ kind: 'container', id: 'foreign' }] },
      rules: ['M41', 'C8'],
    },
    { name: '[D7, C12, M10] that is pinned', given: { pinned: true }, rules: ['D7', 'D7'] },
    { name: '[M2] first detected in the future', given: { firstDetectedMs: NOW + 1 }, rules: ['M2', 'M2'] },
    { name: '[D9] used since', given: { lastUsedMs: NOW }, rules: ['D9', 'D9'] },
    { name: '[D10] that is too young', given: { firstDetectedMs: NOW - 1 }, rules: ['D10', 'D10'] },
    {
      name: '[M17, M33] that failed to go lately',
      given: { backoff: { failures: 1, untilMs: NOW + 1 } },
      rules: ['M33', 'M33'],
    },
  ])('$name', ({ given, rules }) => {
    const facts = { containers: [container('foreign', { pod: null })] };
    const ruleUnder = (profile: Policy['profile']) =>
      decided(profile, [image('a', given)], facts).verdicts[0];
    expect([ruleUnder('fleetgc'), ruleUnder('kubelet')]).toMatchObject(
      rules.map((rule) => ({ action: 'keep', rule })),
    );
  });

  test('[C8] that a container names by its id, even when it is not listed as its user', () => {
    const facts = { containers: [container('c', { imageId: 'a' })] };
    expect(both([image('a')], facts)).toEqual({ fleetgc: [], kubelet: [] });
  });

  test('[C5] listed twice', () => {
    expect(both([image('a'), image('a')])).toEqual({ fleetgc: [], kubelet: [] });
  });

  test('[C8] while a container names no image at all', () => {
    expect(both([image('a')], { containersWithoutImage: ['c'] })).toEqual({ fleetgc: [], kubelet: [] });
  });

  test.each([
    { name: '[D4, M37] more available than there is', reading: { availableBytes: '1001' } },
    { name: '[D5, M36] no capacity', reading: { capacityBytes: '0' } },
    { name: '[D4, A1] a capacity that is missing', reading: { capacityBytes: null } },
  ])('on a disk that reports $name', ({ reading }) => {
    const facts = { filesystems: filesystems(reading) };
    expect(both([image('a')], facts)).toEqual({ fleetgc: [], kubelet: [] });
  });

  test('[M11] on a keep list that was written', () => {
    const keep = keepList({ patterns: ['registry.example/a'], unpullable: false });
    expect(both([image('a')], {}, { keep })).toEqual({ fleetgc: [], kubelet: [] });
  });

  test('[M11] in a kept namespace: there too what the profile kubelet takes for unused', () => {
    const facts = { sandboxes: [sandbox('s', { pod: { uid: 'p', name: 'p', namespace: 'kept' } })] };
    const keep = keepList({ namespaces: ['kept'], unpullable: false });
    const wanted = image('a', { usedBy: [{ kind: 'pod', id: 'p' }] });
    const ofSandbox = image('a', { usedBy: [{ kind: 'sandbox', id: 's' }] });
    for (const given of [wanted, ofSandbox]) {
      expect(both([given], facts, { keep })).toEqual({ fleetgc: [], kubelet: [] });
      expect(both([given], facts, { keep: { ...keep, namespaces: ['other'] } })).toEqual(KUBELET_ONLY);
    }
    const unknownPod = image('a', { usedBy: [{ kind: 'pod', id: 'elsewhere' }] });
    expect(both([unknownPod], facts, { keep })).toEqual({ fleetgc: [], kubelet: [] });
  });
});

describe('when a reclaim by usage begins under the profile kubelet', () => {
  const images = ['a', 'b'].map((id) => image(id, { sizeBytes: 40 }));
  const at = (availableBytes: string, round = 1) => ({
    filesystems: filesystems({ availableBytes }),
    reclaim: reclaim({ round }),
  });

  test('[D6] the reading of the inventory itself must meet the high threshold', () => {
    expect(both(images, at('160'))).toEqual({ fleetgc: ['a'], kubelet: [] });
    expect(both(images, at('159'))).toEqual({ fleetgc: ['a', 'b'], kubelet: ['a', 'b'] });
    expect(decided('kubelet', images, at('160')).reason).toContain('imagefs is used to 84%');
  });

  test('[D6, A1] a reading that cannot be had begins no pass, whatever the target', () => {
    const inodes = { resource: 'inodesFree', atLeast: '950' } as const;
    const cause = { ...reclaim().cause, signal: 'imageGCInodes', reading: '95%' };
    const ordered = reclaim({ cause, target: { ...reclaim().target, ...inodes } });
    const facts = { reclaim: ordered, filesystems: filesystems({ capacityBytes: null, inodesFree: '50' }) };
    const settings = { imageGCInodes: { highThresholdPercent: 90, lowThresholdPercent: 5 } };
    expect(both(images, facts, settings)).toEqual({ fleetgc: ['a', 'b'], kubelet: [] });
  });

  test('[D6, P4] in later rounds it goes on to the target', () => {
    expect(both(images, at('160', 2))).toEqual({ fleetgc: ['a'], kubelet: ['a'] });
    expect(both(images, at('200', 2))).toEqual({ fleetgc: [], kubelet: [] });
  });

  test('[D13] one image goes even where rounding leaves nothing to free', () => {
    const tiny = { filesystems: filesystems({ capacityBytes: '3', availableBytes: '0' }) };
    const reclaimed = { ...tiny, reclaim: reclaim({ target: { ...reclaim().target, atLeast: '0' } }) };
    expect(both(images, reclaimed)).toEqual(KUBELET_ONLY);
  });

  test('[D2, D1] a high threshold of 100 means a full disk where there is a maximum age, and never where there is none', () => {
    const full = at('0');
    const hundred = { ...full, reclaim: reclaim({ cause: { ...reclaim().cause, reading: '100%' } }) };
    const settings = { imageGCHighThresholdPercent: 100 };
    const withAge = { ...settings, imageMaximumGCAgeMs: 100 * HOUR };
    expect(both(images, hundred, withAge)).toEqual({ fleetgc: ['a', 'b'], kubelet: ['a', 'b'] });
    expect(both(images, full, withAge)).toEqual({ fleetgc: [], kubelet: [] });
    expect(both(images, hundred, settings)).toEqual({ fleetgc: [], kubelet: [] });
  });
});
