import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE, NOW } from '../../../fixtures/time.ts';

const MAXIMUM = 6 * HOUR;
const ago = (ms: number) => NOW - ms;
const unused = (id: string, ms: number, overrides: Partial<InventoryImage> = {}) =>
  image(id, { lastUsedMs: ago(ms), firstDetectedMs: ago(100 * HOUR), ...overrides });
/** So that half of the listed images is no limit. */
const YOUNG = Array.from({ length: 10 }, (_, index) => unused(`young-${index}`, HOUR));

const decided = (
  images: readonly InventoryImage[],
  settings: Partial<Policy> = {},
  facts: Partial<CompleteInventory> = {},
) =>
  decide(
    inventory({ images: [...images, ...YOUNG], ...facts }),
    policy({ imageMaximumGCAgeMs: MAXIMUM, ...settings }),
  );
const removed = (...args: Parameters<typeof decided>) => decided(...args).items.map(({ id }) => id);

describe.each(['fleetgc', 'kubelet'] as const)('by age, in the profile %s', (profile) => {
  const keep = keepList({ unpullable: profile === 'fleetgc' });
  const by = { profile, keep };

  test('[E3] an image goes when it was unused for longer than the maximum age, strictly', () => {
    const images = [unused('equal', MAXIMUM), unused('longer', MAXIMUM + 1)];
    const { items, verdicts, outcome } = decided(images, by);
    expect({ items, outcome }).toEqual({
      items: [{ kind: 'image', id: 'longer', sizeBytes: 10, estimatedBytes: 10, rule: 'E3' }],
      outcome: 'commanded',
    });
    expect(verdicts.slice(0, 2)).toMatchObject([
      { action: 'keep', rule: 'E3', facts: { unusedMs: MAXIMUM, maximumAgeMs: MAXIMUM } },
      { action: 'remove', rule: 'E3' },
    ]);
  });

  test('[E1, B4] a maximum age of 0 is off', () => {
    expect(decided([unused('a', 1_000 * HOUR)], { ...by, imageMaximumGCAgeMs: 0 })).toMatchObject({
      outcome: 'nothing-to-do',
      items: [],
    });
  });

  test('[E3, D8] in the order of removal', () => {
    const images = [unused('late', 7 * HOUR), unused('early', 9 * HOUR), unused('middle', 8 * HOUR)];
    expect(removed(images, by)).toEqual(['early', 'middle', 'late']);
  });

  test('[E5] without a target: all go, on an empty disk too', () => {
    const images = [unused('a', 7 * HOUR), unused('b', 8 * HOUR)];
    const facts = { filesystems: filesystems({ availableBytes: '1000' }) };
    expect(removed(images, by, facts)).toEqual(['b', 'a']);
  });

  test('[E7, D3] the disk is not asked: one that cannot be read stops no removal by age, and is told', () => {
    const facts = { filesystems: filesystems({ capacityBytes: null }) };
    const { items, notBelieved } = decided([unused('a', 7 * HOUR)], by, facts);
    expect(items.map(({ id }) => id)).toEqual(['a']);
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['A1']);
  });

  test.each<{ name: string; kept: Partial<InventoryImage>; rule: string }>([
    { name: '[C8, K2] in use', kept: { usedBy: [{ kind: 'container', id: 'c' }] }, rule: 'C8' },
    { name: '[D7, M10] pinned', kept: { pinned: true }, rule: 'D7' },
    { name: '[M2] detected in the future', kept: { firstDetectedMs: NOW + 1 }, rule: 'M2' },
  ])('$name it stays', ({ kept, rule }) => {
    const { items, verdicts } = decided([unused('a', 7 * HOUR, kept)], by);
    expect(items).toEqual([]);
    expect(verdicts[0]).toMatchObject({ action: 'keep', rule });
  });

  test('[M11] on the keep list it stays', () => {
    const listed = keepList({ patterns: ['registry.example/a'], unpullable: false });
    expect(removed([unused('a', 7 * HOUR), unused('b', 7 * HOUR)], { profile, keep: listed })).toEqual(['b']);
  });

  test('[C8] nothing goes while a container names no image', () => {
    const facts = { containersWithoutImage: ['c'] };
    expect(decided([unused('a', 7 * HOUR)], by, facts)).toMatchObject({ outcome: 'not-believed', items: [] });
  });

  test('[P5] half of the listed images at most, and the record names what waits', () => {
    const images = Array.from({ length: 4 }, (_, index) => unused(`${index}`, 7 * HOUR));
    const { items, verdicts, reason } = decided([], by, { images });
    expect(items).toHaveLength(2);
    expect(verdicts.map(({ rule }) => rule)).toEqual(['E3', 'E3', 'P5', 'P5']);
    expect(verdicts.slice(2).map(({ facts }) => facts)).toEqual([
      { place: 3, removed: 2 },
      { place: 4, removed: 2 },
    ]);
    expect(reason).toContain('2 image(s) go, counted with 20 bytes, 2 more wait');
  });

  test('[E5, J5, M25] a reclaim that never comes to images keeps none from going by age', () => {
    const images = [unused('a', 7 * HOUR)];
    const cause = { ...reclaim().cause, signal: 'nodefs.available' };
    const facts = { reclaim: reclaim({ cause, actions: ['containers'], step: 'containers' }) };
    const { items, reclaim: carried } = decided(images, by, facts);
    expect({ ids: items.map(({ id }) => id), carried }).toEqual({ ids: ['a'], carried: null });
    expect(decided(images, { ...by, imageMaximumGCAgeMs: 0 }, facts)).toMatchObject({
      outcome: 'nothing-to-do',
      reason: 'images go by usage only at the step "images" of a reclaim; this one has none',
    });
  });

  test('[E5] none goes by age while a reclaim is under way that comes to images', () => {
    const images = [unused('a', 7 * HOUR)];
    const atContainers = { reclaim: reclaim({ step: 'containers' }) };
    const relieved = { reclaim: reclaim(), filesystems: filesystems({ availableBytes: '500' }) };
    expect(removed(images, by, atContainers)).toEqual([]);
    expect(removed(images, by, relieved)).toEqual([]);
  });

  test('none that is old enough: nothing to do, and the reason says so', () => {
    expect(decided([], by)).toMatchObject({
      outcome: 'nothing-to-do',
      reason: 'images that were unused for more than 21600000 ms go: there is none',
      unrelievedAt: null,
    });
  });
});

describe('where the profiles differ by age', () => {
  const both = (images: readonly InventoryImage[], settings: Partial<Policy> = {}, facts = {}) => ({
    fleetgc: removed(images, { profile: 'fleetgc', ...settings }, facts),
    kubelet: removed(images, { profile: 'kubelet', ...settings }, facts),
  });

  test('[E4, M3] an image that never had a container', () => {
    const pulled = image('pulled', { lastUsedMs: null, firstDetectedMs: ago(MINUTE * 3) });
    const old = image('old', { lastUsedMs: null, firstDetectedMs: ago(MAXIMUM + 1) });
    expect(both([pulled, old])).toEqual({ fleetgc: ['old'], kubelet: ['old', 'pulled'] });
  });

  test('[M3] its age counts from the later of first detection and last use', () => {
    const back = unused('came-back', 9 * HOUR, { firstDetectedMs: ago(HOUR) });
    expect(both([back])).toEqual({ fleetgc: [], kubelet: ['came-back'] });
  });

  test('[E4, M3, M4] the minimum age, which may be the longer one', () => {
    const young = unused('young', 7 * HOUR, { firstDetectedMs: ago(8 * HOUR) });
    expect(both([young], { imageMinimumGCAgeMs: 8 * HOUR + 1 })).toEqual({ fleetgc: [], kubelet: ['young'] });
    expect(both([young], { imageMinimumGCAgeMs: 8 * HOUR })).toEqual({
      fleetgc: ['young'],
      kubelet: ['young'],
    });
  });

  test.each([
    { name: 'exactly as long as the maximum age', sinceMs: MAXIMUM, fleetgc: [] },
    { name: 'longer', sinceMs: MAXIMUM + 1, fleetgc: ['used', 'never'] },
  ])('[E2, M2] images that were watched $name', ({ sinceMs, fleetgc }) => {
    const never = image('never', { lastUsedMs: null, firstDetectedMs: ago(100 * HOUR) });
    const facts = { imagesWatchedSinceMs: ago(sinceMs) };
    const { fleetgc: ours, kubelet } = both([unused('used', 100 * HOUR), never], {}, facts);
    expect({ ours: ours.toSorted(), kubelet: kubelet.toSorted() }).toEqual({
      ours: fleetgc.toSorted(),
      kubelet: ['never', 'used'],
    });
  });

  test('[E2, M2] nobody told since when images were watched', () => {
    const facts = { imagesWatchedSinceMs: null };
    expect(both([unused('a', 100 * HOUR)], {}, facts)).toEqual({ fleetgc: [], kubelet: ['a'] });
    expect(decided([unused('a', 100 * HOUR)], {}, facts)).toMatchObject({
      outcome: 'not-believed',
      notBelieved: [{ rule: 'E2' }],
    });
    expect(decided([], { imageMaximumGCAgeMs: 0 }, facts).notBelieved).toEqual([]);
  });

  test.each([
    { name: 'exactly the maximum age', sinceStartMs: MAXIMUM, kubelet: [] },
    { name: 'longer than the maximum age', sinceStartMs: MAXIMUM + 1, kubelet: ['a'] },
  ])('[E2, M2] an agent that has run for $name', ({ sinceStartMs, kubelet }) => {
    const agentStartedAt = instant({ sinceBootMs: instant().sinceBootMs - sinceStartMs });
    expect(both([unused('a', 7 * HOUR)], {}, { agentStartedAt })).toEqual({ fleetgc: ['a'], kubelet });
  });

  test('[E2] an agent of another boot has not started at any known time', () => {
    const agentStartedAt = instant({ sinceBootMs: 0, bootId: 'another' });
    expect(both([unused('a', 7 * HOUR)], {}, { agentStartedAt })).toEqual({ fleetgc: ['a'], kubelet: [] });
    expect(decided([], { profile: 'kubelet' }, { agentStartedAt }).verdicts[0]?.rule).toBe('E2');
  });
});
