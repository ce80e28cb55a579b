import { describe, expect, test } from 'vitest';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, image, sandbox } from '../../../fixtures/inventory.ts';
import { keepList } from '../../../fixtures/policy.ts';
import { HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';
import { decided, removed, verdict } from './support/decided.ts';

describe('an image is kept', () => {
  const old = NOW - 10 * HOUR;

  test.each<{ name: string; kept: Partial<InventoryImage>; rule: string; settings?: Partial<Policy> }>([
    {
      name: '[C8, K2] in use by a container',
      kept: { usedBy: [{ kind: 'container', id: 'c' }] },
      rule: 'C8',
    },
    {
      name: '[C10, M5] wanted by a pod that is starting',
      kept: { usedBy: [{ kind: 'pod', id: 'p' }] },
      rule: 'M5',
    },
    { name: '[M9] as the image of a sandbox', kept: { usedBy: [{ kind: 'sandbox', id: 's' }] }, rule: 'M9' },
    {
      name: '[M9] as the configured sandbox image',
      kept: { usedBy: [{ kind: 'sandbox-image', id: 'registry.example/pause:3' }] },
      rule: 'M9',
    },
    { name: '[D7, M10, K2] pinned by the runtime', kept: { pinned: true }, rule: 'D7' },
    {
      name: '[M11] on the keep list by name',
      kept: {},
      rule: 'M11',
      settings: { keep: keepList({ patterns: ['registry.example/*'] }) },
    },
    {
      name: '[M11] on the keep list by digest',
      kept: {},
      rule: 'M11',
      settings: { keep: keepList({ digests: [`sha256:${'a'.repeat(64)}`] }) },
    },
    {
      name: '[M11] on the keep list by label',
      kept: { labels: { keep: 'yes' } },
      rule: 'M11',
      settings: { keep: keepList({ labels: { keep: 'yes' } }) },
    },
    { name: '[M11] without a digest to pull it again by', kept: { repoDigests: [] }, rule: 'M11' },
    { name: '[D9] last used at the time of the inventory', kept: { lastUsedMs: NOW }, rule: 'D9' },
    { name: '[D9] last used after the time of the inventory', kept: { lastUsedMs: NOW + 1 }, rule: 'D9' },
    {
      name: '[D10] one millisecond younger than the minimum age',
      kept: { firstDetectedMs: NOW - 2 * MINUTE + 1 },
      rule: 'D10',
    },
    {
      name: '[M2] first detected in the future, even without a minimum age',
      kept: { firstDetectedMs: NOW + 1 },
      rule: 'M2',
      settings: { imageMinimumGCAgeMs: -HOUR },
    },
    {
      name: '[M17, M33] in backoff',
      kept: { backoff: { failures: 2, untilMs: NOW + 1 } },
      rule: 'M33',
    },
    {
      name: '[M33] in the longest backoff',
      kept: { backoff: { failures: 9, untilMs: NOW + HOUR } },
      rule: 'M33',
    },
    {
      name: '[C8] in use, even when it is old, unpinned and never seen in use by a detection',
      kept: { usedBy: [{ kind: 'container', id: 'c' }], lastUsedMs: null, firstDetectedMs: old },
      rule: 'C8',
    },
  ])('$name', ({ kept, rule, settings = {} }) => {
    const images = [image('a', kept)];
    expect(verdict(images, {}, settings)).toMatchObject({ action: 'keep', rule });
    expect(removed(images, {}, settings)).toEqual([]);
  });

  test.each<{ name: string; goes: Partial<InventoryImage>; settings?: Partial<Policy> }>([
    { name: '[D9] last used just before the inventory', goes: { lastUsedMs: NOW - 1 } },
    { name: '[D10] exactly of the minimum age', goes: { firstDetectedMs: NOW - 2 * MINUTE } },
    {
      name: '[B11, D10] just detected, when there is no minimum age',
      goes: { firstDetectedMs: NOW },
      settings: { imageMinimumGCAgeMs: -1 },
    },
    { name: '[M33] backoff over', goes: { backoff: { failures: 3, untilMs: NOW } } },
    {
      name: '[M33] a backoff longer than any, from before the clock was set back',
      goes: { backoff: { failures: 3, untilMs: NOW + HOUR + 1 } },
    },
    {
      name: '[M11] of another name and label than the keep list',
      goes: { labels: { keep: 'no' } },
      settings: { keep: keepList({ patterns: ['other.example/**'], labels: { keep: 'yes' } }) },
    },
  ])('not so: $name', ({ goes, settings = {} }) => {
    expect(removed([image('a', goes)], {}, settings)).toEqual(['a']);
  });

  test('[M41, M12] used only by a container that is not ours: kept, and named so', () => {
    const foreign = container('foreign', { pod: null });
    const images = [image('a', { usedBy: [{ kind: 'container', id: 'foreign' }] })];
    expect(verdict(images, { containers: [foreign] })).toMatchObject({ action: 'keep', rule: 'M41' });
    expect(decided(images, { containers: [foreign] }).holders).toContainEqual({
      reason: 'not-ours',
      objects: 1,
      bytes: 10,
    });
  });

  test('[M41, C8] used by a container of ours as well: in use', () => {
    const foreign = [container('foreign', { pod: null })];
    const sandboxes = [sandbox('foreign-sandbox', { pod: null })];
    const images = [
      image('a', {
        usedBy: [
          { kind: 'container', id: 'foreign' },
          { kind: 'sandbox', id: 'foreign-sandbox' },
          { kind: 'container', id: 'ours' },
        ],
      }),
    ];
    expect(verdict(images, { containers: foreign, sandboxes })).toMatchObject({
      rule: 'C8',
      facts: { users: 3, user: 'container ours' },
    });
  });

  test('[C5] listed twice: every entry of it, and the record says so', () => {
    const { items, verdicts, notBelieved } = decided([
      image('a'),
      image('a', { lastUsedMs: null }),
      image('b'),
    ]);
    expect(items.map(({ id }) => id)).toEqual(['b']);
    expect(verdicts.slice(0, 2).map(({ rule }) => rule)).toEqual(['C5', 'C5']);
    expect(notBelieved).toEqual([
      { rule: 'C5', message: '1 image id(s) are listed more than once and kept; first by name: a' },
    ]);
  });

  test('[M2, D9] times in the future are told', () => {
    const { notBelieved } = decided([
      image('b', { lastUsedMs: NOW + HOUR }),
      image('a', { firstDetectedMs: NOW + HOUR }),
    ]);
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['M2', 'D9']);
  });
});
