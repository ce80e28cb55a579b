import { describe, expect, test } from 'vitest';
import type { Policy } from '../../schemas/policy.ts';
import { filesystems } from '../fixtures/filesystems.ts';
import { image } from '../fixtures/inventory.ts';
import { reclaim } from '../fixtures/reclaim.ts';
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

  test.each([
    { name: 'a higher low threshold', settings: { imageGCLowThresholdPercent: 84 } },
    { name: 'image GC by usage switched off', settings: { imageGCHighThresholdPercent: 100 } },
  ])('[D6] what an eviction signal ordered is not held against percentages: $name', ({ settings }) => {
    const wanted = reclaim({ cause: evictionSignal });
    expect(removed(three, { reclaim: wanted }, settings)).toEqual(['a', 'b', 'c']);
    expect(decided(three, { reclaim: wanted }, settings).reclaim).toEqual(wanted);
  });
});
