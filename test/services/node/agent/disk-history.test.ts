import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bucket, DiskStats } from '../../../../schemas/events/disk-stats.ts';
import {
  DISK_HISTORY_BYTES,
  type DiskHistory,
  DiskHistoryFile,
  fold,
  NO_DISK_HISTORY,
  reloadDiskHistory,
} from '../../../../services/node/agent/disks.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { HOUR, instant, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';

type Sample = readonly [atMs: number, availableBytes: string | null];

const folded = (samples: readonly Sample[], before = NO_DISK_HISTORY): DiskHistory =>
  samples.reduce(
    (history, [atMs, availableBytes]) => fold(history, filesystems({ availableBytes }), atMs),
    before,
  );
const available = (samples: readonly Sample[]): Bucket[] => folded(samples).imagefs.availableBytes;

test.each<{ name: string; samples: Sample[]; buckets: Bucket[] }>([
  {
    name: 'ten seconds are one bucket: start, minimum, maximum, last',
    samples: [
      [10_000, '50'],
      [15_000, '90'],
      [17_000, '30'],
      [19_999, '60'],
    ],
    buckets: [[10_000, '30', '90', '60']],
  },
  {
    name: 'the next ten seconds are another',
    samples: [
      [19_999, '60'],
      [20_000, '70'],
    ],
    buckets: [
      [10_000, '60', '60', '60'],
      [20_000, '70', '70', '70'],
    ],
  },
  {
    name: 'values compare as numbers, not as text',
    samples: [
      [0, '9'],
      [1, '10'],
    ],
    buckets: [[0, '9', '10', '10']],
  },
  {
    name: 'what cannot be read leaves a gap',
    samples: [
      [0, '5'],
      [10_000, null],
      [20_000, '6'],
    ],
    buckets: [
      [0, '5', '5', '5'],
      [20_000, '6', '6', '6'],
    ],
  },
  {
    name: 'after ten minutes tens of seconds melt into minutes',
    samples: [
      [0, '5'],
      [10_000, '9'],
      [50_000, '1'],
      [60_000, '7'],
      [10 * MINUTE + 50_000, '8'],
    ],
    buckets: [
      [0, '1', '9', '1'],
      [60_000, '7', '7', '7'],
      [10 * MINUTE + 50_000, '8', '8', '8'],
    ],
  },
  {
    name: 'one millisecond earlier the last of them has not melted yet',
    samples: [
      [0, '5'],
      [50_000, '1'],
      [10 * MINUTE + 49_999, '8'],
    ],
    buckets: [
      [0, '5', '5', '5'],
      [50_000, '1', '1', '1'],
      [10 * MINUTE + 40_000, '8', '8', '8'],
    ],
  },
  {
    name: 'after two hours a bucket is gone',
    samples: [
      [0, '5'],
      [MINUTE, '6'],
      [2 * HOUR, '7'],
    ],
    buckets: [
      [MINUTE, '6', '6', '6'],
      [2 * HOUR, '7', '7', '7'],
    ],
  },
])('$name', ({ samples, buckets }) => {
  expect(available(samples)).toEqual(buckets);
});

test('each filesystem and resource has its own history', () => {
  const history = fold(NO_DISK_HISTORY, { ...filesystems({ inodesFree: null }), nodefs: null }, 0);
  expect(history.nodefs).toEqual({ availableBytes: [], inodesFree: [] });
  expect(history.imagefs).toEqual({ availableBytes: [[0, '100', '100', '100']], inodesFree: [] });
});

test('no sample is forgotten within two hours, and buckets stand in their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 8 * MINUTE }), fc.nat(1_000)), {
        minLength: 1,
        maxLength: 60,
      }),
      (steps) => {
        let atMs = 0;
        const samples = steps.map(([afterMs, value]): Sample => {
          atMs += afterMs;
          return [atMs, String(value)];
        });
        const recent = samples
          .filter(([sampleMs]) => sampleMs > atMs - 2 * HOUR + MINUTE)
          .map(([, value]) => Number(value));
        const buckets = available(samples);
        const starts = buckets.map(([startMs]) => startMs);
        expect(starts).toEqual([...new Set(starts)].toSorted((a, b) => a - b));
        expect(Math.min(...buckets.map(([, min]) => Number(min)))).toBeLessThanOrEqual(Math.min(...recent));
        expect(Math.max(...buckets.map(([, , max]) => Number(max)))).toBeGreaterThanOrEqual(
          Math.max(...recent),
        );
        expect(buckets.at(-1)?.[3]).toBe(samples.at(-1)?.[1]);
      },
    ),
  );
});

test('three hours of the longest numbers fit the file', () => {
  const longest = '18446744073709551615';
  let history = NO_DISK_HISTORY;
  for (let atMs = 1e12; atMs < 1e12 + 3 * HOUR; atMs += 5 * SECOND) {
    history = fold(history, filesystems({ availableBytes: longest, inodesFree: longest }), atMs);
  }
  const file = { version: 1, at: instant(), history };
  expect(DiskStats.shape.history.safeParse(history).success).toBe(true);
  expect(history.imagefs.availableBytes.length).toBeGreaterThan(160);
  expect(JSON.stringify(file).length).toBeLessThan(DISK_HISTORY_BYTES);
});

const AT = instant({ sinceBootMs: 3 * HOUR });
const kept = (startMs: number) => ({
  availableBytes: [[startMs, '1', '2', '3']] satisfies Bucket[],
  inodesFree: [],
});
const file = (startMs: number): DiskHistoryFile => ({
  version: 1,
  at: AT,
  history: { nodefs: kept(startMs), imagefs: kept(startMs), containerfs: kept(startMs) },
});

test.each<{ name: string; startMs: number; now: ReturnType<typeof instant>; starts: number[] }>([
  {
    name: 'a restarted agent goes on where the last one stood',
    startMs: 3 * HOUR - MINUTE,
    now: instant({ sinceBootMs: 3 * HOUR + MINUTE, wallTimeMs: NOW + MINUTE }),
    starts: [3 * HOUR - MINUTE],
  },
  {
    name: 'over a reboot times are negative, the time off included',
    startMs: 3 * HOUR - MINUTE,
    now: instant({ bootId: 'next', sinceBootMs: 5 * SECOND, wallTimeMs: NOW + HOUR + 5 * SECOND }),
    starts: [-HOUR - MINUTE],
  },
  {
    name: 'a wall clock that ran backwards leaves no gap',
    startMs: 3 * HOUR - MINUTE,
    now: instant({ bootId: 'next', sinceBootMs: 5 * SECOND, wallTimeMs: NOW - HOUR }),
    starts: [-MINUTE],
  },
  {
    name: 'a wall clock 25 years ahead leaves nothing',
    startMs: 3 * HOUR - MINUTE,
    now: instant({ bootId: 'next', sinceBootMs: 5 * SECOND, wallTimeMs: NOW + 25 * 365 * 24 * HOUR }),
    starts: [],
  },
  {
    name: 'a bucket from the future is dropped',
    startMs: 3 * HOUR,
    now: instant({ sinceBootMs: 2 * HOUR }),
    starts: [],
  },
])('$name', ({ startMs, now, starts }) => {
  const written = DiskHistoryFile.parse(JSON.parse(JSON.stringify(file(startMs))));
  const { nodefs, imagefs, containerfs } = reloadDiskHistory(written, now);
  for (const { availableBytes } of [nodefs, imagefs, containerfs]) {
    expect(availableBytes.map(([start]) => start)).toEqual(starts);
  }
});

test('one disk has one history, and one that turns out to be another has its own', () => {
  const one = filesystems({ availableBytes: '50' });
  const [disk] = [one.nodefs];
  const same = { nodefs: disk, imagefs: disk, containerfs: disk };
  const shared = fold(fold(NO_DISK_HISTORY, same, 10_000), same, 20_000);
  expect(shared.imagefs).toBe(shared.nodefs);
  expect(shared.imagefs.availableBytes).toHaveLength(2);

  const apart = fold(shared, { ...same, imagefs: filesystems({ availableBytes: '70' }).imagefs }, 30_000);
  expect(apart.imagefs.availableBytes.at(-1)).toEqual([30_000, '70', '70', '70']);
  expect(apart.containerfs.availableBytes.at(-1)).toEqual([30_000, '50', '50', '50']);
  expect(fold(apart, same, 40_000).imagefs.availableBytes.at(-2)).toEqual([30_000, '70', '70', '70']);
});
