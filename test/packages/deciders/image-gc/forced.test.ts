import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { policy, threshold } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';

const USED = Array.from({ length: 10 }, (_, index) =>
  image(`used-${index}`, { usedBy: [{ kind: 'container', id: 'c' }] }),
);
const images = ['a', 'b', 'c'].map((id, index) =>
  image(id, { sizeBytes: 60, lastUsedMs: NOW - (9 - index) * HOUR }),
);

const eviction = (overrides: Partial<Reclaim> = {}): Reclaim =>
  reclaim({
    cause: { ...reclaim().cause, signal: 'imagefs.available', threshold: '15%', reading: '100' },
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '150' },
    ...overrides,
  });
const ofInodes = (signal: string): Reclaim =>
  eviction({
    cause: { ...reclaim().cause, signal, threshold: '20%', reading: '90%' },
    target: { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '200' },
  });

const decided = (
  settings: Partial<Policy> = {},
  facts: Partial<CompleteInventory> = {},
  listed: readonly InventoryImage[] = images,
) => decide(inventory({ images: [...listed, ...USED], reclaim: eviction(), ...facts }), policy(settings));
const removed = (...args: Parameters<typeof decided>) => decided(...args).items.map(({ id }) => id);

describe('forced by an eviction signal', () => {
  test('[F1, M14, J22] fleetgc ends at the target, the kubelet takes every eligible image', () => {
    expect(removed()).toEqual(['a']);
    expect(removed({ profile: 'kubelet' })).toEqual(['a', 'b', 'c']);
  });

  test('[F3, J22] both take none once the disk has what its threshold asks for, whatever was ordered', () => {
    expect(decided({ profile: 'kubelet' }).reason).toContain('every image goes that nothing protects');
    for (const profile of ['fleetgc', 'kubelet'] as const) {
      const facts = { filesystems: filesystems({ availableBytes: '900' }) };
      expect(decided({ profile }, facts)).toMatchObject({
        items: [],
        reason: expect.stringContaining('the target is reached: 900 bytes are available'),
      });
    }
  });

  test.each<{ name: string; kept: Partial<InventoryImage>; rule: string }>([
    {
      name: '[F2, K2] one in use',
      kept: { usedBy: [{ kind: 'container', id: 'c' }] },
      rule: 'C8',
    },
    { name: '[F2, D7] a pinned one', kept: { pinned: true }, rule: 'D7' },
    { name: '[F2, D10, J20] one that is too young', kept: { firstDetectedMs: NOW - MINUTE }, rule: 'D10' },
    { name: '[F1, D9] one used since', kept: { lastUsedMs: NOW }, rule: 'D9' },
  ])('$name stays in both profiles', ({ kept, rule }) => {
    for (const profile of ['fleetgc', 'kubelet'] as const) {
      const { items, verdicts } = decided({ profile }, {}, [image('a', kept)]);
      expect(items).toEqual([]);
      expect(verdicts[0]).toMatchObject({ action: 'keep', rule });
    }
  });

  test('[F2, D1] whatever the thresholds, the maximum age and the time of the start say', () => {
    const settings = { imageGCHighThresholdPercent: 100, imageMaximumGCAgeMs: 1_000 * HOUR };
    expect(removed(settings)).toEqual(['a']);
    expect(removed({ ...settings, profile: 'kubelet' })).toEqual(['a', 'b', 'c']);
  });

  test('[P4, J22] a command holds 50, and the record names what waits', () => {
    const many = Array.from({ length: 120 }, (_, index) => image(`image-${index}`));
    const { items, verdicts } = decided({ profile: 'kubelet' }, {}, many);
    expect(items).toHaveLength(50);
    expect(verdicts.filter(({ rule }) => rule === 'P4')).toHaveLength(70);
  });

  test.each<{ name: string; settings: Partial<Policy>; rule: string; says: RegExp }>([
    {
      name: '[M16] forced GC is off',
      settings: { forcedGC: false },
      rule: 'M16',
      says: /no eviction threshold/,
    },
    {
      name: '[J9] the threshold is gone',
      settings: { evictionThresholds: [] },
      rule: 'J9',
      says: /no eviction threshold for imagefs.available/,
    },
  ])('$name in the policy by now: nothing goes', ({ settings, rule, says }) => {
    for (const profile of ['fleetgc', 'kubelet'] as const) {
      const { outcome, items, verdicts, reason } = decided({ ...settings, profile });
      expect({ outcome, items }).toEqual({ outcome: 'nothing-to-do', items: [] });
      expect(verdicts[0]).toMatchObject({ action: 'keep', rule });
      expect(reason).toMatch(says);
    }
  });

  test.each([
    { signal: 'nodefs.available', layout: filesystems() },
    { signal: 'imagefs.available', layout: { ...filesystems(), nodefs: filesystem({ device: '8:2' }) } },
  ] as const)('[J6] the threshold of containerfs is that of $signal', ({ signal, layout }) => {
    const forContainers = eviction({ cause: { ...eviction().cause, signal: 'containerfs.available' } });
    const facts = { filesystems: layout, reclaim: forContainers };
    expect(removed({ evictionThresholds: [threshold(signal, 15)] }, facts)).toEqual(['a']);
    expect(removed({ evictionThresholds: [threshold('nodefs.inodesFree', 15)] }, facts)).toEqual([]);
  });

  test('[M8, D17] with nothing to remove, the pressure that stays is told', () => {
    for (const profile of ['fleetgc', 'kubelet'] as const) {
      const { outcome, unrelievedAt } = decided({ profile }, {}, []);
      expect({ outcome, unrelievedAt }).toEqual({ outcome: 'unrelieved', unrelievedAt: '100' });
    }
  });
});

describe('for inodes', () => {
  const imageGCInodes = { highThresholdPercent: 85, lowThresholdPercent: 80 };
  const scarce = filesystems({ inodesFree: '100' });
  const facts = (signal: string, filesystemFacts = scarce) => ({
    filesystems: filesystemFacts,
    reclaim: ofInodes(signal),
  });

  test.each([
    { name: 'the two thresholds for inodes', signal: 'imageGCInodes', settings: { imageGCInodes } },
    {
      name: 'an eviction threshold for inodes',
      signal: 'imagefs.inodesFree',
      settings: { evictionThresholds: [threshold('imagefs.inodesFree', 20)] },
    },
  ])('[M13] $name: images go in order, and measuring ends it', ({ signal, settings }) => {
    const { items, reason, outcome } = decided(settings, facts(signal));
    expect(items.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(outcome).toBe('commanded');
    expect(reason).toContain(
      '100 inodes are missing to the target; sizes do not tell which images free them',
    );
  });

  test('[M13] one round holds what one command may hold', () => {
    const many = Array.from({ length: 120 }, (_, index) => image(`image-${index}`));
    expect(decided({ imageGCInodes }, facts('imageGCInodes'), many).items).toHaveLength(50);
  });

  test('[M13, D22] not where the policy does not ask for it', () => {
    expect(decided({}, facts('imageGCInodes'))).toMatchObject({ outcome: 'nothing-to-do', items: [] });
    expect(decided({ evictionThresholds: [] }, facts('imagefs.inodesFree')).items).toEqual([]);
  });

  test('[M13, D6] not when the target is reached, nor when the policy would not have begun it', () => {
    const reached = facts('imageGCInodes', filesystems({ inodesFree: '200' }));
    expect(decided({ imageGCInodes }, reached).reason).toContain('200 inodes are free');
    const higher = { imageGCInodes: { highThresholdPercent: 91, lowThresholdPercent: 80 } };
    expect(decided(higher, facts('imageGCInodes'))).toMatchObject({ outcome: 'nothing-to-do', items: [] });
  });

  test('[M13, D6] a policy that asks for less makes the target smaller', () => {
    const less = { imageGCInodes: { highThresholdPercent: 85, lowThresholdPercent: 84 } };
    expect(decided(less, facts('imageGCInodes')).reclaim?.target.atLeast).toBe('160');
  });

  test.each([
    { name: '[A1] inodes that cannot be read', reading: { inodes: null }, rule: 'A1' },
    { name: '[A1] free inodes that cannot be read', reading: { inodesFree: null }, rule: 'A1' },
    {
      name: '[D5] a filesystem that does not count them',
      reading: { inodes: '0', inodesFree: '0' },
      rule: 'D5',
    },
    { name: '[M37, K11] more free than there are', reading: { inodesFree: '1001' }, rule: 'M37' },
  ])('$name keep every image', ({ reading, rule }) => {
    const given = facts('imageGCInodes', filesystems(reading));
    expect(decided({ imageGCInodes }, given)).toMatchObject({
      outcome: 'not-believed',
      items: [],
      notBelieved: [{ rule }],
    });
  });

  test('[A2] and so do inodes of a filesystem that holds no images', () => {
    const elsewhere = { ...scarce, nodefs: filesystem({ device: '8:2', inodesFree: '100' }) };
    const target = { ...ofInodes('').target, filesystem: 'nodefs' as const };
    const given = { filesystems: elsewhere, reclaim: { ...ofInodes('nodefs.inodesFree'), target } };
    expect(decided({}, given)).toMatchObject({ outcome: 'not-believed', notBelieved: [{ rule: 'A2' }] });
  });

  test('[M8, M13] what stays missing is told in inodes', () => {
    expect(decided({ imageGCInodes }, facts('imageGCInodes'), [])).toMatchObject({
      outcome: 'unrelieved',
      unrelievedAt: '100',
    });
  });
});

describe('[M39] for an absolute threshold', () => {
  const imageGCAvailable = { startBelowBytes: '150', untilBytes: '200' };
  const ordered = reclaim({
    cause: { ...reclaim().cause, signal: 'imageGCAvailable', threshold: '150', reading: '100' },
  });

  test('images go until its target', () => {
    expect(removed({ imageGCAvailable }, { reclaim: ordered })).toEqual(['a', 'b']);
  });

  test('to the smaller target of the policy by now, and not without one', () => {
    const smaller = { startBelowBytes: '150', untilBytes: '160' };
    expect(removed({ imageGCAvailable: smaller }, { reclaim: ordered })).toEqual(['a']);
    expect(decided({}, { reclaim: ordered })).toMatchObject({ outcome: 'nothing-to-do', items: [] });
  });
});
