import { describe, expect, test } from 'vitest';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image } from '../../../fixtures/inventory.ts';
import { threshold } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { decided, removed, verdict } from './support/decided.ts';

describe('a policy that changed since the reclaim was ordered', () => {
  const three = ['a', 'b', 'c'].map((id) => image(id, { sizeBytes: 40 }));
  const evictionSignal = { ...reclaim().cause, signal: 'imagefs.available', reading: '100Mi' };
  const of = (atLeast: bigint | number) => ({ ...reclaim().target, atLeast: String(atLeast) });

  test.each<{ name: string; low: number; goes: string[]; atLeast: string }>([
    { name: '[D6] asks for as much: as ordered', low: 80, goes: ['a', 'b', 'c'], atLeast: '200' },
    { name: '[D6] asks for less: the plan ends earlier', low: 82, goes: ['a', 'b'], atLeast: '180' },
    {
      name: '[D6] asks for more: the order is not made larger',
      low: 50,
      goes: ['a', 'b', 'c'],
      atLeast: '200',
    },
  ])('$name', ({ low, goes, atLeast }) => {
    const settings = { imageGCLowThresholdPercent: low };
    expect(removed(three, {}, settings)).toEqual(goes);
    expect(decided(three, {}, settings).reclaim).toEqual(reclaim({ target: of(BigInt(atLeast)) }));
  });

  test('[D6] the record says which target was used, and why', () => {
    const settings = { imageGCLowThresholdPercent: 82 };
    const why = 'policy default now asks for 180 bytes, less than the 200 that were ordered';
    expect(decided(three, {}, settings).reason).toBe(
      `${why}; 80 bytes are missing to the target; 2 image(s) go, counted with 80 bytes`,
    );
    expect(decided(three, {}, { imageGCLowThresholdPercent: 84 }).reason).toMatch(
      /asks for 160 bytes.*60 bytes/,
    );
    const relieved = decided(three, { filesystems: filesystems({ availableBytes: '180' }) }, settings);
    expect(relieved).toMatchObject({
      outcome: 'nothing-to-do',
      reason: `${why}; the target is reached: 180 bytes are available`,
    });
  });

  test.each<{ name: string; settings: Partial<Policy>; rule: string; reason: RegExp }>([
    {
      name: '[D1] switches image GC by usage off',
      settings: { imageGCHighThresholdPercent: 100 },
      rule: 'D1',
      reason: /now switches image GC by usage off/,
    },
    {
      name: '[D6] would not have begun it',
      settings: { imageGCHighThresholdPercent: 91 },
      rule: 'D6',
      reason: /was used to 90% .* below the 91% of policy default now/,
    },
  ])('$name: no image goes, and the reclaim ends', ({ settings, rule, reason }) => {
    expect(decided(three, {}, settings)).toMatchObject({
      outcome: 'nothing-to-do',
      reason: expect.stringMatching(reason),
      items: [],
      unrelievedAt: null,
    });
    expect(verdict(three, {}, settings)).toMatchObject({ action: 'keep', rule });
  });

  test('[D6] would just have begun it: it goes on, below the high threshold too', () => {
    const settings = { imageGCHighThresholdPercent: 90 };
    expect(removed(three, { reclaim: reclaim({ round: 2 }) }, settings)).toEqual(['a', 'b', 'c']);
    const between = { filesystems: filesystems({ availableBytes: '160' }) };
    expect(removed(three, between, settings)).toEqual(['a']);
  });

  test('[D6] a beginning that is not known keeps everything', () => {
    const strange = reclaim({ cause: { ...reclaim().cause, reading: 'full' } });
    expect(decided(three, { reclaim: strange })).toMatchObject({ outcome: 'nothing-to-do', items: [] });
  });

  describe('of an eviction signal', () => {
    const wanted = { reclaim: reclaim({ cause: evictionSignal }) };

    test.each<{ name: string; settings: Partial<Policy>; atLeast: number }>([
      { name: 'the low threshold, while the high one is met too', settings: {}, atLeast: 200 },
      { name: 'a higher low threshold', settings: { imageGCLowThresholdPercent: 84 }, atLeast: 160 },
      {
        name: 'no percentage of usage',
        settings: { imageGCHighThresholdPercent: 100 },
        atLeast: 150,
      },
      {
        name: 'a lower eviction threshold',
        settings: {
          imageGCHighThresholdPercent: 100,
          evictionThresholds: [threshold('imagefs.available', 12.5)],
        },
        atLeast: 125,
      },
      {
        name: 'one with a minimum reclaim',
        settings: {
          imageGCHighThresholdPercent: 100,
          evictionThresholds: [
            { ...threshold('imagefs.available', 12.5), minimumReclaim: { quantity: '25' } },
          ],
        },
        atLeast: 150,
      },
    ])('[J10, J13] asks for no more than its thresholds on that disk do: $name', ({ settings, atLeast }) => {
      expect(decided(three, wanted, settings).reclaim).toEqual(
        reclaim({ ...wanted.reclaim, target: of(atLeast) }),
      );
    });

    test('[J10] goes on between threshold and minimum reclaim, and ends behind it', () => {
      const settings = {
        imageGCHighThresholdPercent: 100,
        evictionThresholds: [{ ...threshold('imagefs.available', 12.5), minimumReclaim: { quantity: '25' } }],
      };
      for (const { available, goes } of [
        { available: '124', goes: ['a'] },
        { available: '149', goes: ['a'] },
        { available: '150', goes: [] },
      ])
        expect(
          removed(three, { ...wanted, filesystems: filesystems({ availableBytes: available }) }, settings),
        ).toEqual(goes);
    });
  });

  describe('on a healthy disk, an order that anybody may have written', () => {
    const thirteen = Array.from({ length: 13 }, (_, index) => image(`i${index}`, { sizeBytes: 20 }));
    const targets = [
      { signal: 'imagefs.available', filesystem: 'imagefs', resource: 'availableBytes' },
      { signal: 'nodefs.available', filesystem: 'nodefs', resource: 'availableBytes' },
      { signal: 'containerfs.available', filesystem: 'containerfs', resource: 'availableBytes' },
      { signal: 'imagefs.inodesFree', filesystem: 'imagefs', resource: 'inodesFree' },
      { signal: 'imageGC', filesystem: 'imagefs', resource: 'availableBytes' },
      { signal: 'imageGC', filesystem: 'nodefs', resource: 'availableBytes' },
      { signal: 'imageGCAvailable', filesystem: 'imagefs', resource: 'availableBytes' },
      { signal: 'imageGCInodes', filesystem: 'imagefs', resource: 'inodesFree' },
    ] as const;

    test.each(targets)('removes nothing: $signal on $filesystem $resource', ({ signal, ...target }) => {
      for (const profile of ['fleetgc', 'kubelet'] as const)
        for (const availableBytes of ['690', '900']) {
          const order = reclaim({
            cause: { ...reclaim().cause, signal, reading: '99%' },
            target: { ...target, atLeast: '1000' },
          });
          const facts = { reclaim: order, filesystems: filesystems({ availableBytes }) };
          const settings = {
            profile,
            imageGCAvailable: { startBelowBytes: '150', untilBytes: '200' },
            imageGCInodes: { highThresholdPercent: 85, lowThresholdPercent: 80 },
          };
          expect(removed(thirteen, facts, settings)).toEqual([]);
        }
    });
  });
});
