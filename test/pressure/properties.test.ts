import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Bucket, DiskStats } from '../../schemas/disk-stats.ts';
import { EvictionSignal, type EvictionThreshold } from '../../schemas/eviction.ts';
import type { FilesystemName, FilesystemReading } from '../../schemas/filesystem.ts';
import type { Policy } from '../../schemas/policy.ts';
import { decide } from '../../services/pressure/decide.ts';
import { pressureHandler } from '../../services/pressure/handler.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { filesystem } from '../fixtures/filesystems.ts';
import { input } from '../fixtures/input.ts';
import { policy, policySet } from '../fixtures/policy.ts';
import { instant, SECOND } from '../fixtures/time.ts';
import { runs } from '../support/property-runs.ts';
import { NOW_MS } from './node-disks.ts';

const NAMES: readonly FilesystemName[] = ['nodefs', 'imagefs', 'containerfs'];
const RUNS = runs(1_000);

/** Of 1000 bytes or inodes. Few values, so that those at a threshold are common. */
const CAPACITY = 1_000;
const count = fc.oneof(fc.integer({ min: 0, max: CAPACITY }), fc.constantFrom(0, 49, 50, 99, 100, 149, 150));

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

const somePolicy: fc.Arbitrary<Policy> = fc
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
const historyOf = (values: fc.Arbitrary<number>): fc.Arbitrary<DiskStats['history']> =>
  fc.record({ nodefs: pastOf(values), imagefs: pastOf(values), containerfs: pastOf(values) });

/** Free bytes and inodes by device: readings of one device agree. */
type Free = Readonly<Record<string, readonly [bytes: number, inodes: number]>>;
const freeOf = (values: fc.Arbitrary<number>): fc.Arbitrary<Free> => {
  const pair = fc.tuple(values, values);
  return fc.record({ a: pair, b: pair, c: pair });
};
const devices = fc.tuple(fc.constant('a'), fc.constantFrom('a', 'b'), fc.constantFrom('a', 'b', 'c'));

function nodeOf(
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

const someNode = fc
  .record({ free: freeOf(count), devices, history: historyOf(count) })
  .map(({ free, ...rest }) => nodeOf(free, rest));

describe('for any disks, past and policy', () => {
  test('[J9, J10] a disk that never was below any threshold orders nothing', () => {
    // 400 of 1000 is the highest threshold there is; usage begins above 60 %.
    const enough = fc.integer({ min: 410, max: CAPACITY });
    const node = fc.record({ free: freeOf(enough), devices, history: historyOf(enough) });
    fc.assert(
      fc.property(node, somePolicy, ({ free, ...rest }, settings) => {
        expect(decide(nodeOf(free, rest), settings)).toMatchObject({ outcome: 'nothing-to-do', begin: null });
      }),
      RUNS,
    );
  });

  test('[J9, J10, J11] one more byte or inode free never adds an order', () => {
    const node = fc.record({ free: freeOf(count), devices, history: historyOf(count) });
    const one = fc.record({ device: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(3), inodes: fc.nat(3) });
    fc.assert(
      fc.property(node, one, somePolicy, ({ free, ...rest }, more, settings) => {
        const [bytes = 0, inodes = 0] = free[more.device] ?? [];
        const freer = {
          ...free,
          [more.device]: [
            Math.min(CAPACITY, bytes + more.bytes),
            Math.min(CAPACITY, inodes + more.inodes),
          ] as const,
        };
        const before = decide(nodeOf(free, rest), settings);
        if (before.begin === null) expect(decide(nodeOf(freer, rest), settings).begin).toBeNull();
      }),
      RUNS,
    );
  });

  test('[J8] what cannot be read orders nothing, and never more than what can', () => {
    const fields = ['capacityBytes', 'availableBytes', 'inodes', 'inodesFree'] as const;
    fc.assert(
      fc.property(
        someNode,
        fc.subarray([...NAMES]),
        fc.subarray([...fields]),
        somePolicy,
        (node, names, gone, settings) => {
          const blinded = { ...node, filesystems: { ...node.filesystems } };
          for (const name of names) {
            const reading = node.filesystems[name];
            const nothing = Object.fromEntries(gone.map((field) => [field, null]));
            blinded.filesystems[name] = reading && { ...reading, ...nothing };
          }
          const { begin } = decide(blinded, settings);
          const read = (name: FilesystemName): FilesystemReading | null => blinded.filesystems[name];
          if (begin !== null) {
            expect(read(begin.target.filesystem)?.[begin.target.resource]).not.toBeNull();
            expect(decide(node, settings).begin).not.toBeNull();
          }
          const dark = { ...node, filesystems: { nodefs: null, imagefs: null, containerfs: null } };
          expect(decide(dark, settings).begin).toBeNull();
        },
      ),
      RUNS,
    );
  });

  test('[M23] an order names a filesystem and resource that is below its target', () => {
    fc.assert(
      fc.property(someNode, somePolicy, (node, settings) => {
        const { begin } = decide(node, settings);
        if (begin === null) return;
        const { filesystem: name, resource, atLeast } = begin.target;
        expect(BigInt(node.filesystems[name]?.[resource] ?? '0') < BigInt(atLeast)).toBe(true);
        expect(begin.actions[0]).toBe(begin.step);
      }),
      RUNS,
    );
  });

  test('[M6] the same event gives the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(someNode, somePolicy, async (node, settings) => {
        const bytes = async () =>
          JSON.stringify(
            await pressureHandler(() => policySet(settings))(input('diskStats', structuredClone(node))),
          );
        expect(await bytes()).toBe(await bytes());
      }),
      runs(200),
    );
  });
});
