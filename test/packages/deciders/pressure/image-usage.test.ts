import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pressure/decide.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { policy } from '../../../fixtures/policy.ts';
import { runs } from '../../../support/property-runs.ts';

const decided = (reading: Partial<FilesystemReading>, settings: Partial<Policy> = {}) =>
  decide(diskStats(reading), usagePolicy(settings));

/** Usage thresholds alone. */
const usagePolicy = (settings: Partial<Policy> = {}) => policy({ evictionThresholds: [], ...settings });

describe('a reclaim begins', () => {
  test.each<{ name: string; available: string; capacity?: string; high?: number; begins: boolean }>([
    { name: '[D6] not below the high threshold', available: '160', begins: false },
    { name: '[D6] above 84 % by one byte, because usage is rounded up', available: '159', begins: true },
    { name: '[D6] at the high threshold exactly', available: '150', begins: true },
    { name: '[D6] on a full disk', available: '0', begins: true },
    { name: '[D6] on an empty disk when the threshold is 0', available: '1000', high: 0, begins: true },
    { name: '[D6] not on an empty disk when the threshold is 1', available: '1000', high: 1, begins: false },
    {
      name: '[D6] with a threshold of 99 at a real usage above 98 %',
      available: '19',
      high: 99,
      begins: true,
    },
    {
      name: '[D1] never with a threshold of 100, not even on a full disk',
      available: '0',
      high: 100,
      begins: false,
    },
    {
      name: '[D6] by the last byte of a disk far beyond 2^53',
      capacity: '18446744073709551615',
      available: '2951479051793528258',
      begins: true,
    },
    {
      name: '[D6] not by one byte more of a disk far beyond 2^53',
      capacity: '18446744073709551615',
      available: '2951479051793528259',
      begins: false,
    },
  ])('$name', ({ available, capacity = '1000', high = 85, begins }) => {
    const { outcome, begin } = decided(
      { availableBytes: available, capacityBytes: capacity },
      { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: Math.min(80, high) },
    );
    expect(outcome).toBe(begins ? 'ordered' : 'nothing-to-do');
    expect(begin !== null).toBe(begins);
  });
});

describe('[D2] with a threshold of 100 and a maximum age', () => {
  test.each([
    { name: 'a disk with nothing left begins', available: '9', begins: true },
    { name: 'a disk with one percent left does not', available: '10', begins: false },
  ])('$name', ({ available, begins }) => {
    const settings = { imageGCHighThresholdPercent: 100, imageMaximumGCAgeMs: 1 };
    expect(decided({ availableBytes: available }, settings).begin !== null).toBe(begins);
  });
});

test('[D6] the target is the available space at the low threshold, rounded down', () => {
  const { begin } = decided({ capacityBytes: '1009', availableBytes: '10' });
  expect(begin?.target).toEqual({ filesystem: 'imagefs', resource: 'availableBytes', atLeast: '201' });
});

test('[D6] the target is exact where a floating-point number is not', () => {
  const { begin } = decided({ capacityBytes: '18446744073709551615', availableBytes: '0' });
  expect(begin?.target.atLeast).toBe('3689348814741910323');
});

test('[D6] the cause names the threshold, the reading and the policy', () => {
  const { begin, reason } = decided({ availableBytes: '91' });
  expect(begin?.cause).toEqual({
    signal: 'imageGC',
    threshold: '85%',
    reading: '91%',
    policy: 'default',
    eventId: 'disk-stats-1',
  });
  expect(reason).toBe('imagefs is used to 91%, threshold 85%: at least 200 bytes shall be available');
});

describe('nothing is decided', () => {
  test.each<{ name: string; reading: Partial<FilesystemReading>; rule: string }>([
    { name: '[D5] on a capacity of 0', reading: { capacityBytes: '0', availableBytes: '0' }, rule: 'D5' },
    {
      name: '[D4, M37, K11] on more available than there is',
      reading: { availableBytes: '1001' },
      rule: 'M37',
    },
    { name: '[A1] without a capacity', reading: { capacityBytes: null }, rule: 'A1' },
    {
      name: '[A1, D4] without the available space, which is not zero',
      reading: { availableBytes: null },
      rule: 'A1',
    },
  ])('$name', ({ reading, rule }) => {
    const { outcome, begin, notBelieved, reason } = decided(reading);
    expect({ outcome, begin }).toEqual({ outcome: 'not-believed', begin: null });
    expect(notBelieved.map((doubt) => doubt.rule)).toEqual([rule]);
    expect(reason).toContain('imagefs');
  });

  test('[A1] on an image filesystem that could not be read, whatever the others say', () => {
    const stats = diskStats({}, { filesystems: { ...filesystems(), imagefs: null } });
    const { outcome, notBelieved } = decide(stats, usagePolicy());
    expect(outcome).toBe('not-believed');
    expect(notBelieved[0]?.message).toContain('imagefs could not be read');
  });

  test('[M36] on a capacity of 0 at start, which is told without alarm', () => {
    const none = { availableBytes: [], inodesFree: [] };
    const { filesystems: read, history } = diskStats({ capacityBytes: '0', availableBytes: '0' });
    const atStart = diskStats({}, { filesystems: read, history: { ...history, imagefs: none } });
    expect(decide(atStart, usagePolicy())).toMatchObject({
      outcome: 'not-believed',
      begin: null,
      notBelieved: [{ rule: 'M36' }],
    });
  });

  test.each([
    { name: 'as long as all that it has said is 0', past: '0', rule: 'M36' },
    { name: 'no longer once it has said more', past: '900', rule: 'D5' },
  ])('[M36] $name', ({ past, rule }) => {
    const { filesystems: read, history } = diskStats({ capacityBytes: '0', availableBytes: '0' });
    const bytes = [[0, past, past, past]] satisfies DiskStats['history']['imagefs']['availableBytes'];
    const imagefs = { availableBytes: bytes, inodesFree: [] };
    const stats = diskStats({}, { filesystems: read, history: { ...history, imagefs } });
    expect(decide(stats, usagePolicy()).notBelieved).toMatchObject([{ rule }]);
  });

  test('[D4] available as much as the capacity is an empty disk, and believed', () => {
    expect(decided({ availableBytes: '1000' }).outcome).toBe('nothing-to-do');
  });
});

describe('[M39] absolute thresholds', () => {
  const imageGCAvailable = { startBelowBytes: '100', untilBytes: '300' };
  const absolute = (reading: Partial<FilesystemReading>) =>
    decided(reading, { imageGCHighThresholdPercent: 100, imageGCAvailable });

  test.each([
    { name: 'begin below the first', reading: { availableBytes: '99' }, begins: true },
    { name: 'do not begin at it', reading: { availableBytes: '100' }, begins: false },
    {
      name: 'hold on the smallest disk that can have so much available',
      reading: { availableBytes: '0', capacityBytes: '300' },
      begins: true,
    },
    {
      name: 'hold on no disk that never can',
      reading: { availableBytes: '0', capacityBytes: '299' },
      begins: false,
    },
  ])('$name', ({ reading, begins }) => {
    const { outcome, begin } = absolute(reading);
    expect(outcome).toBe(begins ? 'ordered' : 'nothing-to-do');
    expect(begin?.target.atLeast).toBe(begins ? '300' : undefined);
  });

  test('[M20, J21] name what they saw, and begin with the containers', () => {
    expect(absolute({ availableBytes: '99' }).begin).toMatchObject({
      cause: { signal: 'imageGCAvailable', threshold: '100', reading: '99' },
      target: { filesystem: 'imagefs', resource: 'availableBytes' },
      actions: ['containers', 'images'],
      step: 'containers',
    });
  });

  test('[J8] rest on no reading that is not believed, told once for both kinds', () => {
    const { begin, notBelieved } = decided({ availableBytes: null }, { imageGCAvailable });
    expect(begin).toBeNull();
    expect(notBelieved).toHaveLength(1);
  });
});

describe('[M13] thresholds of inodes', () => {
  const inodes = (reading: Partial<FilesystemReading>, highThresholdPercent = 85) =>
    decided(
      { availableBytes: '900', ...reading },
      { imageGCInodes: { highThresholdPercent, lowThresholdPercent: 80 } },
    );

  test.each([
    { name: 'begin at the high one, with usage rounded up', inodesFree: '159', begins: true },
    { name: 'do not begin below it', inodesFree: '160', begins: false },
    { name: 'are off at 100', inodesFree: '0', high: 100, begins: false },
    { name: 'do not begin where inodes are not counted', inodesFree: null, begins: false },
  ])('$name', ({ inodesFree, high, begins }) => {
    const { outcome, begin } = inodes({ inodesFree }, high);
    expect(outcome).toBe(begins ? 'ordered' : 'nothing-to-do');
    expect(begin?.cause.signal).toBe(begins ? 'imageGCInodes' : undefined);
  });

  test('[D6] aim for the free inodes at the low one, rounded down', () => {
    expect(inodes({ inodes: '1009', inodesFree: '10' }).begin?.target).toEqual({
      filesystem: 'imagefs',
      resource: 'inodesFree',
      atLeast: '201',
    });
  });

  test('the cause names the threshold and the reading', () => {
    expect(inodes({ inodesFree: '50' }).begin?.cause).toMatchObject({ threshold: '85%', reading: '95%' });
  });

  test('[J8] a filesystem that does not count them says so', () => {
    expect(inodes({ inodesFree: null }).reason).toBe(
      'imagefs is used to 10%, below 85%; imagefs does not count its inodes',
    );
  });

  test('[D22] without them, inodes begin nothing', () => {
    expect(decided({ availableBytes: '900', inodesFree: '0' }).begin).toBeNull();
  });
});

const bytes = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

test('[D6] usage and target agree with arithmetic on fractions, for any disk and thresholds', () => {
  fc.assert(
    fc.property(bytes, bytes, fc.nat(99), fc.nat(99), (one, other, first, second) => {
      const [available, capacity] = one < other ? [one, other] : [other, one];
      const [low, high] = first < second ? [first, second] : [second, first];
      fc.pre(capacity > 0n && low < high);
      const { begin } = decided(
        { capacityBytes: String(capacity), availableBytes: String(available) },
        { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low },
      );
      // ceil(used / capacity * 100) >= high, without dividing
      const begins = (capacity - available) * 100n > capacity * BigInt(high - 1);
      expect(begin !== null).toBe(begins);
      if (begin === null) return;
      const free = BigInt(begin.target.atLeast) * 100n;
      const wanted = capacity * BigInt(100 - low);
      expect(free <= wanted && wanted < free + 100n).toBe(true);
    }),
    runs(2_000),
  );
});
