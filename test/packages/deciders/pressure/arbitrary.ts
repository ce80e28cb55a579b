import fc from 'fast-check';
import type { Bucket, DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import { EvictionSignal, type EvictionThreshold } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { filesystem } from '../../../fixtures/filesystems.ts';
import { policy } from '../../../fixtures/policy.ts';
import { instant, SECOND } from '../../../fixtures/time.ts';
import { NOW_MS } from './node-disks.ts';

/** Of 1000 bytes or inodes. Few values, so that those at a threshold are common. */
export const CAPACITY = 1_000;
export const count = fc.oneof(
  fc.integer({ min: 0, max: CAPACITY }),
  fc.constantFrom(0, 49, 50, 99, 100, 149, 150),
);

const amount = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((percent) => ({ percent })),
  fc.integer({ min: 1, max: 400 }).map((quantity) => ({ quantity: String(quantity) })),
);
const someThreshold: fc.Arbitrary<EvictionThreshold> = fc
  .record({
    signal: fc.constantFrom(...EvictionSignal.options),
    value: amount,
    graceSeconds: fc.constantFrom(0, 0, 10, 60),
    minimumReclaim: fc.option(amount),
  })
  .map(({ graceSeconds, ...rest }) => ({
    ...rest,
    kind: graceSeconds === 0 ? 'hard' : 'soft',
    gracePeriodMs: graceSeconds * SECOND,
  }));

export const somePolicy: fc.Arbitrary<Policy> = fc
  .record({
    evictionThresholds: fc.array(someThreshold, { maxLength: 5 }),
    imageGCHighThresholdPercent: fc.constantFrom(60, 85, 100),
    imageGCLowThresholdPercent: fc.constant(50),
    imageGCAvailable: fc.constantFrom(null, { startBelowBytes: '100', untilBytes: '300' }),
    imageGCInodes: fc.constantFrom(null, { highThresholdPercent: 85, lowThresholdPercent: 80 }),
    profile: fc.constantFrom('fleetgc', 'kubelet'),
  } satisfies { [K in keyof Policy]?: fc.Arbitrary<Policy[K]> })
  .map((settings) => policy(settings));

const buckets = (values: fc.Arbitrary<number>): fc.Arbitrary<Bucket[]> =>
  fc.array(fc.tuple(values, values, values, fc.boolean()), { maxLength: 10 }).map((spans) => {
    let atMs = NOW_MS + 10 * SECOND;
    const newestFirst = spans.map(([a, b, c, isGap]): Bucket => {
      atMs -= (isGap ? 9 : 1) * 10 * SECOND;
      const [min = 0, last = 0, max = 0] = [a, b, c].toSorted((one, other) => one - other);
      return [atMs, String(min), String(max), String(last)];
    });
    return newestFirst.toReversed();
  });
const pastOf = (values: fc.Arbitrary<number>) =>
  fc.record({ availableBytes: buckets(values), inodesFree: buckets(values) });
export const historyOf = (values: fc.Arbitrary<number>): fc.Arbitrary<DiskStats['history']> =>
  fc.record({ nodefs: pastOf(values), imagefs: pastOf(values), containerfs: pastOf(values) });

/** Free bytes and inodes by device: readings of one device agree. */
type Free = Readonly<Record<string, readonly [bytes: number, inodes: number]>>;
export const freeOf = (values: fc.Arbitrary<number>): fc.Arbitrary<Free> => {
  const pair = fc.tuple(values, values);
  return fc.record({ a: pair, b: pair, c: pair });
};
export const devices = fc.tuple(fc.constant('a'), fc.constantFrom('a', 'b'), fc.constantFrom('a', 'b', 'c'));

export function nodeOf(
  free: Free,
  { devices, history }: { devices: readonly string[]; history: DiskStats['history'] },
): DiskStats {
  const reading = (index: number): FilesystemReading => {
    const device = devices[index] ?? 'a';
    const [bytes = 0, inodes = 0] = free[device] ?? [];
    return filesystem({ device, availableBytes: String(bytes), inodesFree: String(inodes) });
  };
  const filesystems = { nodefs: reading(0), imagefs: reading(1), containerfs: reading(2) };
  return diskStats({}, { filesystems, history, takenAt: instant() });
}

export const someNode = fc
  .record({ free: freeOf(count), devices, history: historyOf(count) })
  .map(({ free, ...rest }) => nodeOf(free, rest));
