import { expect, test } from 'vitest';
import type { Bucket, DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { EvictionThreshold } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { HOUR, MINUTE } from '../../../fixtures/time.ts';
import { policies, recorded, simulated } from '../support/simulated-past.ts';

const soft = (overrides: Partial<EvictionThreshold> = {}): EvictionThreshold => ({
  signal: 'imagefs.available',
  kind: 'soft',
  value: { quantity: '300' },
  gracePeriodMs: 2 * MINUTE,
  minimumReclaim: null,
  ...overrides,
});

/** No image goes by usage. */
const forced = (threshold: EvictionThreshold, over: Partial<Policy> = {}) =>
  policies({
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionThresholds: [threshold],
    ...over,
  });

/** Buckets of ten seconds up to a minute, each of one reading: what was available so many minutes before. */
const since = (minute: number, fromMinute: number, available: (minute: number) => number): Bucket[] =>
  Array.from({ length: (minute - fromMinute) * 6 }, (_, index) => {
    const at = fromMinute + index / 6;
    const value = String(available(at));
    return [24 * HOUR + at * MINUTE, value, value, value];
  });

/** Statistics of a node with one disk, and of what they tell of its past. */
function stats(minute: number, fromMinute: number, available: (minute: number) => number) {
  const past = { availableBytes: since(minute, fromMinute, available), inodesFree: [] };
  const over: Partial<DiskStats> = {
    filesystems: filesystems({ availableBytes: String(available(minute)) }),
    history: { nodefs: past, imagefs: past, containerfs: past },
  };
  return { minute, over };
}

const ALL = ['a', 'b', 'c', 'd'];
const look = (minute: number, available: number) => ({ minute, images: ALL, available });
const low = () => 250;

test.each([
  { name: 'for its grace period', fromMinute: 0, removed: 1 },
  { name: 'not for so long', fromMinute: 1, removed: 0 },
])('[J11] a soft threshold that is met $name: $removed image(s) go', async ({ fromMinute, removed }) => {
  const log = recorded({ looks: [look(4, 250)], stats: [stats(3, fromMinute, low)] });
  const { total, read } = await simulated(log, { policy: forced(soft()) });

  expect(total.policy.removed.images).toBe(removed);
  expect(read.withoutDiskStats).toBe(0);
});

test('without disk statistics no grace period passes, and that is told', async () => {
  const log = recorded({ looks: [look(4, 250), look(8.01, 250)], stats: [stats(3, 2, low)] });
  const { total, read } = await simulated(log, { policy: forced(soft()) });

  expect(total.policy.removed.images).toBe(0);
  expect(read.withoutDiskStats).toBe(1);
});

test('they are not read where no policy looks back', async () => {
  const log = recorded({ looks: [look(4, 250)], stats: [stats(3, 0, low)] });
  const hard = soft({ kind: 'hard', gracePeriodMs: 0 });

  expect(
    await simulated(log, { policy: forced(soft(), { forcedGC: false }), against: forced(hard) }),
  ).toMatchObject({
    read: { records: 1, withoutDiskStats: 0 },
    total: { policy: { removed: { images: 0 } }, against: { removed: { images: 1 } } },
  });
});

test('the past of the simulated disk is its own: what went there is free from then on', async () => {
  const log = recorded({
    looks: [look(4, 250), look(9, 250)],
    stats: [stats(3, 0, low), stats(8, 0, low)],
  });
  expect((await simulated(log, { policy: forced(soft()) })).total.policy.removed.images).toBe(1);
});

test('[J10] a threshold that was met stays met until its minimum reclaim is free too', async () => {
  const threshold = soft({ kind: 'hard', gracePeriodMs: 0, minimumReclaim: { quantity: '100' } });
  // It rises by itself, from below the threshold to above, and not to what would clear it.
  const rising = (minute: number) => (minute < 1 ? 250 : 320);
  const reclaimed = async (from: number) => {
    const log = recorded({ looks: [look(3, 320)], stats: [stats(2, from, rising)] });
    return (await simulated(log, { policy: forced(threshold) })).total.policy.removed.images;
  };
  expect(await reclaimed(0)).toBe(1);
  expect(await reclaimed(1)).toBe(0);
});

test.each([
  { name: 'comes soon after', minute: 18, available: 250, removed: 1 },
  { name: 'comes much later', minute: 18.1, available: 250, removed: 0 },
  { name: 'has enough', minute: 4, available: 300, removed: 0 },
])('an order waits for the next inventory, which $name: $removed', async ({ minute, available, removed }) => {
  const log = recorded({ looks: [look(minute, available)], stats: [stats(3, 0, low)] });
  expect((await simulated(log, { policy: forced(soft()) })).total.policy.removed.images).toBe(removed);
});

test('an order that is fulfilled leaves the inventory to its own thresholds', async () => {
  const log = recorded({ looks: [look(4, 300)], stats: [stats(3, 0, low)] });
  const policy = policies({
    imageGCHighThresholdPercent: 70,
    imageGCLowThresholdPercent: 60,
    evictionThresholds: [soft()],
  });
  expect((await simulated(log, { policy })).total.policy.removed.images).toBe(1);
});

test('[J10] what went in the simulation clears a threshold in its past', async () => {
  const threshold = soft({ kind: 'hard', gracePeriodMs: 0, minimumReclaim: { quantity: '50' } });
  const falling = (minute: number) => (minute < 8 ? 250 : 240);
  const log = recorded({
    looks: [look(4, 250), look(9, 240)],
    stats: [stats(3, 0, falling), stats(8, 0, falling)],
  });
  expect((await simulated(log, { policy: forced(threshold) })).total.policy.removed.images).toBe(1);
});

test('[J5] beside a reclaim of containers alone images go by their age, and by nothing else', async () => {
  const onNode = filesystem({ device: 'node', availableBytes: '250' });
  const onImages = filesystem({ device: 'images', availableBytes: '900' });
  const over = { filesystems: { nodefs: onNode, imagefs: onImages, containerfs: onNode } };
  const log = recorded({ looks: [{ ...look(0, 0), over }] });
  const threshold = soft({ signal: 'nodefs.available', kind: 'hard', gracePeriodMs: 0 });
  const removedAfter = async (imageMaximumGCAgeMs: number) =>
    (await simulated(log, { policy: forced(threshold, { imageMaximumGCAgeMs }) })).total.policy.removed
      .images;

  expect(await removedAfter(HOUR)).toBe(2);
  expect(await removedAfter(0)).toBe(0);
});
