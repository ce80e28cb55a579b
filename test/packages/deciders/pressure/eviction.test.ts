import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pressure/decide.ts';
import { quantityOf } from '../../../../packages/decision/thresholds/eviction-signals.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { EvictionThreshold } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { policy } from '../../../fixtures/policy.ts';
import { MINUTE, SECOND } from '../../../fixtures/time.ts';
import { bucket, DEDICATED, disks, evictionPolicy, NOW_MS, SINGLE, SPLIT, threshold } from './node-disks.ts';

/** One threshold on the images of a node that has them apart. */
const at = (
  reading: Partial<FilesystemReading>,
  over: Partial<EvictionThreshold> = {},
  settings: Partial<Policy> = {},
) =>
  decide(
    disks(DEDICATED, onImages(reading)),
    evictionPolicy([threshold('imagefs.available', over)], settings),
  );

/** Images and writable layers share their disk. */
const onImages = (reading: Partial<FilesystemReading>) => ({ imagefs: reading, containerfs: reading });

describe('[J9] a threshold is met', () => {
  test.each<{
    name: string;
    free: string;
    capacity?: string;
    value: EvictionThreshold['value'];
    met: boolean;
  }>([
    { name: 'below its quantity', free: '99', value: { quantity: '100' }, met: true },
    { name: 'not at its quantity', free: '100', value: { quantity: '100' }, met: false },
    { name: 'below its percentage', free: '149', value: { percent: 15 }, met: true },
    { name: 'not at its percentage', free: '150', value: { percent: 15 }, met: false },
    { name: 'not at 0%', free: '0', value: { percent: 0 }, met: false },
    {
      name: 'below the last byte of a large disk that 32 bits add',
      capacity: '1000000000000',
      free: '100000001490',
      value: { percent: 10 },
      met: false,
    },
    {
      name: 'one byte below it',
      capacity: '1000000000000',
      free: '100000001489',
      value: { percent: 10 },
      met: true,
    },
  ])('$name', ({ free, capacity = '1000', value, met }) => {
    const { begin } = at({ availableBytes: free, capacityBytes: capacity }, { value });
    expect(begin !== null).toBe(met);
  });

  test.each([
    { percent: 10, capacity: 1_000_000_000_000n, quantity: 100_000_001_490n },
    { percent: 15, capacity: 1_000_000_000_000n, quantity: 150_000_005_960n },
    { percent: 5, capacity: 1_000_000_000_000n, quantity: 50_000_000_745n },
    { percent: 10, capacity: 999n, quantity: 99n },
    { percent: 50, capacity: 1001n, quantity: 500n },
    { percent: 12.5, capacity: 800n, quantity: 100n },
  ])('$percent% of $capacity is $quantity: a fraction of 32 bits, a product of 64, cut off', (given) => {
    expect(quantityOf({ percent: given.percent }, given.capacity)).toBe(given.quantity);
  });
});

describe('the target', () => {
  test.each([
    { name: 'is the threshold', minimumReclaim: null, atLeast: '150' },
    { name: 'has a quantity on top', minimumReclaim: { quantity: '30' }, atLeast: '180' },
    { name: 'has a percentage on top, cut off by itself', minimumReclaim: { percent: 3.19 }, atLeast: '181' },
  ])('[M14, M22, J10] $name', ({ minimumReclaim, atLeast }) => {
    const { begin } = at({ availableBytes: '149' }, { value: { percent: 15 }, minimumReclaim });
    expect(begin?.target).toEqual({ filesystem: 'imagefs', resource: 'availableBytes', atLeast });
  });

  test('[M23, J16, M13] is of the resource that ran out', () => {
    const inodes = threshold('imagefs.inodesFree', { value: { percent: 5 }, minimumReclaim: { percent: 5 } });
    const stats = disks(DEDICATED, { imagefs: { inodesFree: '49' } });
    const { begin } = decide(stats, evictionPolicy([inodes]));
    expect(begin?.target).toEqual({ filesystem: 'imagefs', resource: 'inodesFree', atLeast: '100' });
  });

  test('the cause and the reason name signal, threshold and reading', () => {
    const { begin, reason } = at({ availableBytes: '149' }, { value: { percent: 15 } });
    expect(begin?.cause).toEqual({
      signal: 'imagefs.available',
      threshold: '15%',
      reading: '14% free',
      policy: 'default',
      eventId: 'disk-stats-1',
    });
    expect(reason).toBe(
      'imagefs.available is at 14% free, threshold 15%: availableBytes of imagefs shall be at least 150',
    );
    const { begin: quantity } = at({ availableBytes: '149' }, { value: { quantity: '150' } });
    expect(quantity?.cause).toMatchObject({ threshold: '150', reading: '149 free' });
  });
});

describe('the past in the event', () => {
  const over = { value: { quantity: '100' }, minimumReclaim: { quantity: '50' } };
  const past = (
    history: Parameters<typeof disks>[2],
    free: string,
    given: Partial<EvictionThreshold> = over,
  ) =>
    decide(
      disks(DEDICATED, { imagefs: { availableBytes: free, inodesFree: free } }, history),
      evictionPolicy([threshold('imagefs.available', given), threshold('imagefs.inodesFree', given)]),
    ).begin;
  const below = [bucket(10 * SECOND, 99)];

  test('[J10] minimum reclaim keeps a threshold met between its two limits', () => {
    const history = { imagefs: { availableBytes: below, inodesFree: [] } };
    expect(past({ history }, '149')?.target).toMatchObject({ resource: 'availableBytes', atLeast: '150' });
    expect(past({ history }, '150')).toBeNull();
    expect(past({}, '149')).toBeNull();
  });

  test('[J10] is that of the same filesystem and resource', () => {
    const others = {
      nodefs: { availableBytes: below, inodesFree: below },
      imagefs: { availableBytes: [], inodesFree: below },
    };
    expect(past({ history: others }, '149')?.target.resource).toBe('inodesFree');
  });

  test('[J11] a soft threshold waits for its grace', () => {
    const soft = { ...over, kind: 'soft', gracePeriodMs: MINUTE } as const;
    const since = (ms: number) => ({
      history: {
        imagefs: {
          availableBytes: [bucket(ms + 10 * SECOND, 99), bucket(ms, 99), bucket(10 * SECOND, 99)],
          inodesFree: [],
        },
      },
    });
    expect(past(since(MINUTE), '99', soft)).not.toBeNull();
    expect(past(since(MINUTE - 1), '99', soft)).toBeNull();
  });
});

describe('nothing is ordered', () => {
  const EMPTY = { availableBytes: '0', inodesFree: '0' };
  const USAGE_IS_OFF = 'D1: a high threshold of 100% switches image GC by usage off';

  test('[M16] with forced collection switched off, whatever the disks say; by usage it goes on', () => {
    const stats = disks(SINGLE, { nodefs: EMPTY, imagefs: EMPTY, containerfs: EMPTY });
    const off = evictionPolicy(policy().evictionThresholds, { forcedGC: false });
    expect(decide(stats, off)).toMatchObject({ outcome: 'nothing-to-do', begin: null });
    expect(decide(stats, off).reason).toContain('M16');
    const byUsage = decide(stats, { ...off, imageGCHighThresholdPercent: 85 });
    expect(byUsage.begin?.cause.signal).toBe('imageGC');
  });

  test('[B14] without thresholds', () => {
    const stats = disks(SINGLE, { nodefs: EMPTY, imagefs: EMPTY, containerfs: EMPTY });
    expect(decide(stats, evictionPolicy([])).begin).toBeNull();
    expect(decide(stats, evictionPolicy([], { forcedGC: false })).reason).toBe(USAGE_IS_OFF);
  });

  test('[J9] while nothing is met, and each kind of threshold says why in one sentence', () => {
    const { reason } = decide(disks(SINGLE), evictionPolicy([threshold('nodefs.available')]));
    expect(reason).toBe(`no eviction threshold is met; ${USAGE_IS_OFF}`);
  });

  test('[J3] where a filesystem could not be read, and no other is said to be unreadable', () => {
    const stats = disks(DEDICATED, { nodefs: null });
    const { notBelieved, reason } = decide(stats, evictionPolicy([threshold('imagefs.available')]));
    expect(notBelieved).toHaveLength(1);
    expect(reason).toBe(`${notBelieved[0]?.message}; ${USAGE_IS_OFF}`);
  });

  test.each([
    { name: 'without what is available', reading: { availableBytes: null }, rule: 'A1' },
    { name: 'without the capacity', reading: { capacityBytes: null }, rule: 'A1' },
    { name: 'with a capacity of 0', reading: { capacityBytes: '0', availableBytes: '0' }, rule: 'M36' },
    { name: 'with more available than there is', reading: { availableBytes: '1001' }, rule: 'M37' },
  ])('[J8, K11] $name', ({ reading, rule }) => {
    const { outcome, begin, notBelieved } = at(reading, { value: { quantity: '5000' } });
    expect({ outcome, begin }).toEqual({ outcome: 'not-believed', begin: null });
    expect(notBelieved).toMatchObject([{ rule }, { rule }]);
  });

  test.each([
    { name: 'without free inodes', reading: { inodesFree: null } },
    { name: 'without a number of inodes', reading: { inodes: null } },
    { name: 'with none at all, as on btrfs', reading: { inodes: '0', inodesFree: '0' } },
  ])('[J8] $name no threshold of inodes is met, which is no fault', ({ reading }) => {
    const inodes = threshold('imagefs.inodesFree', { value: { quantity: '5000' } });
    const { outcome, notBelieved } = decide(disks(DEDICATED, onImages(reading)), evictionPolicy([inodes]));
    expect({ outcome, notBelieved }).toEqual({ outcome: 'nothing-to-do', notBelieved: [] });
  });

  test('[J8, M37] with more inodes free than there are', () => {
    const inodes = threshold('imagefs.inodesFree', { value: { quantity: '5000' } });
    const stats = disks(DEDICATED, onImages({ inodesFree: '1001' }));
    expect(decide(stats, evictionPolicy([inodes]))).toMatchObject({
      outcome: 'not-believed',
      begin: null,
      notBelieved: [{ rule: 'M37' }, { rule: 'M37' }],
    });
  });

  test('[J8] a filesystem that is not believed does not silence another', () => {
    const thresholds = [threshold('nodefs.available'), threshold('imagefs.available')];
    const free = { nodefs: { capacityBytes: '0' }, imagefs: { availableBytes: '1' } };
    const { begin, notBelieved } = decide(disks(DEDICATED, free), evictionPolicy(thresholds));
    expect(begin?.cause.signal).toBe('imagefs.available');
    expect(notBelieved).toHaveLength(1);
  });
});

describe('[J13] several thresholds at once', () => {
  const LOW = { availableBytes: '1', inodesFree: '1' };
  const everywhere = { nodefs: LOW, imagefs: LOW, containerfs: LOW };
  const begun = (settings: Partial<Policy>, minute = 0, layout = SINGLE) => {
    const sinceBootMs = NOW_MS + minute * MINUTE;
    return decide(disks(layout, everywhere, { sinceBootMs }), policy(settings)).begin;
  };
  const quantities = (...values: readonly [EvictionThreshold['signal'], string][]) =>
    values.map(([signal, quantity]) => threshold(signal, { value: { quantity } }));

  test.each([
    { nodefs: '10', imagefs: '30', named: 'imagefs' },
    { nodefs: '30', imagefs: '10', named: 'nodefs' },
    { nodefs: '30', imagefs: '30', named: 'nodefs' },
  ] as const)('of one device and resource are one reclaim, by the name of the strictest: $named', (given) => {
    const evictionThresholds = quantities(
      ['nodefs.available', given.nodefs],
      ['imagefs.available', given.imagefs],
    );
    for (const minute of [0, 1, 2])
      expect(begun({ evictionThresholds, imageGCHighThresholdPercent: 100 }, minute)).toMatchObject({
        cause: { signal: `${given.named}.available`, threshold: '30' },
        target: { filesystem: given.named, resource: 'availableBytes', atLeast: '30' },
      });
  });

  test.each([
    { name: 'dedicated', layout: DEDICATED },
    { name: 'split', layout: SPLIT },
  ])(
    '[J6] of a device that containerfs shares are named by the thresholds that were written: $name',
    (given) => {
      const evictionThresholds = quantities(['nodefs.available', '10'], ['imagefs.available', '30']);
      const settings = { evictionThresholds, imageGCHighThresholdPercent: 100 };
      const named = [0, 1].map((minute) => begun(settings, minute, given.layout)?.target.filesystem);
      expect(named).toEqual(['nodefs', 'imagefs']);
    },
  );

  test('of usage that asks for more than a signal of another name of the disk: the target has the name of usage', () => {
    const evictionThresholds = quantities(['nodefs.available', '10']);
    expect(begun({ evictionThresholds })).toMatchObject({
      cause: { signal: 'nodefs.available', threshold: '10' },
      target: { filesystem: 'imagefs', atLeast: '200' },
    });
  });

  test('an eviction signal gives the cause and usage the target, where that is the stricter', () => {
    const evictionThresholds = quantities(['imagefs.available', '30']);
    expect(begun({ evictionThresholds })).toMatchObject({
      cause: { signal: 'imagefs.available' },
      target: { atLeast: '200' },
    });
  });

  test('of usage alone, the strictest gives both', () => {
    const imageGCAvailable = { startBelowBytes: '100', untilBytes: '300' };
    expect(begun({ evictionThresholds: [], imageGCAvailable })).toMatchObject({
      cause: { signal: 'imageGCAvailable' },
      target: { atLeast: '300' },
    });
    const less = { startBelowBytes: '100', untilBytes: '150' };
    expect(begun({ evictionThresholds: [], imageGCAvailable: less })).toMatchObject({
      cause: { signal: 'imageGC' },
      target: { atLeast: '200' },
    });
  });

  test('of several devices take turns by the minute, so that none waits for ever; on one device the first goes', () => {
    const evictionThresholds = quantities(
      ['nodefs.available', '10'],
      ['imagefs.available', '30'],
      ['imagefs.inodesFree', '40'],
    );
    const settings = { evictionThresholds, imageGCHighThresholdPercent: 100 };
    const turns = [0, 1, 2, 3].map((minute) => {
      const begin = begun(settings, minute, DEDICATED);
      return [begin?.cause.signal, begin?.target.atLeast];
    });
    expect(turns).toEqual([
      ['nodefs.available', '10'],
      ['imagefs.available', '30'],
      ['nodefs.available', '10'],
      ['imagefs.available', '30'],
    ]);
  });

  test('a signal that nothing can be done for takes no turn', () => {
    const evictionThresholds = quantities(['nodefs.available', '10'], ['imagefs.available', '30']);
    const settings = {
      evictionThresholds,
      imageGCHighThresholdPercent: 100,
      profile: 'kubelet',
    } as const;
    for (const minute of [0, 1])
      expect(begun(settings, minute, DEDICATED)?.cause.signal).toBe('imagefs.available');
  });
});
