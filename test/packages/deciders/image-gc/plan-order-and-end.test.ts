import { describe, expect, test } from 'vitest';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';
import { decided, removed } from './support/decided.ts';

describe('the order of removal', () => {
  const ago = (hours: number) => NOW - hours * HOUR;
  const big = { sizeBytes: 40 };

  test.each<{ name: string; images: InventoryImage[]; order: string[] }>([
    {
      name: '[D8] least recently used first',
      images: [
        image('1', { lastUsedMs: ago(1) }),
        image('3', { lastUsedMs: ago(3) }),
        image('2', { lastUsedMs: ago(2) }),
      ],
      order: ['3', '2', '1'],
    },
    {
      name: '[D8] never used before used, even before one used at the epoch',
      images: [image('used', { lastUsedMs: 0 }), image('never', { lastUsedMs: null })],
      order: ['never', 'used'],
    },
    {
      name: '[D8] among those last used together, the first detected first, however small',
      images: [
        image('later', { ...big, firstDetectedMs: ago(6) }),
        image('first', { sizeBytes: 1, firstDetectedMs: ago(7) }),
      ],
      order: ['first', 'later'],
    },
    {
      name: '[D8] among those detected together, the larger first',
      images: [image('a', { sizeBytes: 10 }), image('b', { sizeBytes: 11 })],
      order: ['b', 'a'],
    },
    {
      name: '[D8] among equals, by id, not by listing order',
      images: [image('c'), image('a'), image('B'), image('b')],
      order: ['B', 'a', 'b', 'c'],
    },
  ])('$name', ({ images, order }) => {
    expect(removed(images)).toEqual(order);
  });
});

describe('the end of the plan', () => {
  const sizes = (...bytes: number[]) =>
    bytes.map((sizeBytes, index) => image(`${index}`, { sizeBytes, lastUsedMs: index }));

  test.each<{ name: string; bytes: number[]; goes: number }>([
    { name: '[D12] with the image that reaches the target exactly', bytes: [60, 40, 10], goes: 2 },
    { name: '[D12] not with an image that leaves one byte missing', bytes: [60, 39, 10, 10], goes: 3 },
    { name: '[D12] with a first image that is larger than all that is missing', bytes: [500, 10], goes: 1 },
    { name: '[D12, D13] images without size do not reach it', bytes: [0, 0, 100, 1], goes: 3 },
    {
      name: '[D14, D17] with the last candidate when all sizes together are too little',
      bytes: [9, 9],
      goes: 2,
    },
  ])('$name', ({ bytes, goes }) => {
    expect(removed(sizes(...bytes))).toEqual(bytes.slice(0, goes).map((_, index) => `${index}`));
  });

  test('[D12] the rest is kept by D12, and named as waiting', () => {
    const { verdicts, holders, estimatedBytes } = decided(sizes(100, 10, 5));
    expect(verdicts.slice(0, 3).map(({ action, rule }) => [action, rule])).toEqual([
      ['remove', 'D11'],
      ['keep', 'D12'],
      ['keep', 'D12'],
    ]);
    expect(holders).toContainEqual({ reason: 'waiting', objects: 2, bytes: 15 });
    expect(estimatedBytes).toBe(100);
  });

  test('[P4] at most 50 images, however much is missing', () => {
    const many = Array.from({ length: 200 }, (_, index) => image(`image-${index}`, { sizeBytes: 1 }));
    const { items, verdicts } = decided(many);
    expect(items).toHaveLength(50);
    const waiting = (kept: string) => verdicts.filter(({ rule }) => rule === kept);
    expect([waiting('P4').length, waiting('D12').length]).toEqual([50, 100]);
  });

  test.each([
    { listed: 1, goes: 1 },
    { listed: 2, goes: 1 },
    { listed: 3, goes: 1 },
    { listed: 4, goes: 2 },
    { listed: 99, goes: 49 },
    { listed: 100, goes: 50 },
    { listed: 101, goes: 50 },
  ])('[P5] of $listed listed images at most half, but one at least: $goes', ({ listed, goes }) => {
    const images = Array.from({ length: listed }, (_, index) => image(`image-${index}`, { sizeBytes: 1 }));
    expect(decided([], { images }).items).toHaveLength(goes);
  });

  test('[D13] nothing goes when the inventory shows the target reached', () => {
    const at = (availableBytes: string) =>
      decided([image('a')], { filesystems: filesystems({ availableBytes }) });
    expect(at('200')).toMatchObject({ outcome: 'nothing-to-do', items: [], unrelievedAt: null });
    expect(at('199')).toMatchObject({ outcome: 'commanded', items: [{ id: 'a' }] });
  });

  test('[D6, D12] bytes are counted exactly beyond 2^53', () => {
    const huge = { capacityBytes: '18446744073709551615', availableBytes: '9007199254740993' };
    const wanted = reclaim({ target: { ...reclaim().target, atLeast: '9007199254740994' } });
    expect(removed(sizes(1, 1), { filesystems: filesystems(huge), reclaim: wanted })).toEqual(['0']);
  });
});

test('[M17, M18] an image in backoff costs no other its place', () => {
  const failing = image('failing', {
    sizeBytes: 100,
    lastUsedMs: null,
    backoff: { failures: 9, untilMs: NOW + 1 },
  });
  expect(removed([failing, image('a', { sizeBytes: 60 }), image('b', { sizeBytes: 60 })])).toEqual([
    'a',
    'b',
  ]);
});
