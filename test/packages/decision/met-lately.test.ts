import { describe, expect, test } from 'vitest';
import { type OwnReadings, whyNotMetLately } from '../../../packages/decision/thresholds/met-lately.ts';
import type { Bucket } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { NO_DISK_HISTORY } from '../../../services/node/agent/disks.ts';
import { filesystem, filesystems } from '../../fixtures/filesystems.ts';
import { policy, threshold } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, MINUTE } from '../../fixtures/time.ts';

const NOW_MS = 10 * HOUR;

/** One sample, or the least, most and last of several, so long ago. */
type Before = readonly [agoMs: number, ...(readonly [string] | readonly [string, string, string])];

interface Case {
  /** Of 1000 bytes and 1000 inodes, now. */
  readonly reading?: Partial<FilesystemReading>;
  /** What was available before, oldest first. */
  readonly before?: readonly Before[];
  readonly settings?: Partial<Policy>;
  readonly ordered?: Partial<Reclaim>;
  readonly nowMs?: number;
}

function why({
  reading = { availableBytes: '500' },
  before = [],
  settings = {},
  ordered = {},
  nowMs = NOW_MS,
}: Case = {}) {
  const buckets = before.map(
    ([agoMs, least, most = least, last = least]): Bucket => [nowMs - agoMs, least, most, last],
  );
  const imagefs = { availableBytes: buckets, inodesFree: buckets };
  const readings: OwnReadings = {
    filesystems: filesystems({ capacityBytes: '1000', inodes: '1000', inodesFree: '900', ...reading }),
    history: { ...NO_DISK_HISTORY, imagefs },
    nowMs,
  };
  return whyNotMetLately(reclaim(ordered), readings, policy({ evictionThresholds: [], ...settings }));
}

const caused = (signal: string): Partial<Reclaim> => ({
  cause: { ...reclaim().cause, signal, reading: '99%' },
});
const wanting = (atLeast: string): Pick<Reclaim, 'target'> => ({
  target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast },
});
const EVICTION: Case = {
  settings: { evictionThresholds: [threshold('imagefs.available', 15)] },
  ordered: caused('imagefs.available'),
};

/** Below the high threshold (150 free) and not at the low one (200): only what was before can justify it. */
const BETWEEN = { availableBytes: '180' };

describe('usage in percent', () => {
  test('the claimed reading counts for nothing', () => {
    expect(why()).toMatch(
      /has 500 of 1000 free .* meets no threshold of policy default for imageGC, or it had 200 free since, which is enough$/,
    );
  });

  test.each<{ name: string; given: Case }>([
    { name: 'the disk is at the threshold now', given: { reading: { availableBytes: '150' } } },
    { name: 'it was an hour ago', given: { reading: BETWEEN, before: [[HOUR, '150']] } },
    { name: 'it was just two hours ago', given: { reading: BETWEEN, before: [[2 * HOUR, '150']] } },
    {
      name: 'it was when the node was booted',
      given: { nowMs: HOUR, reading: BETWEEN, before: [[HOUR, '150']] },
    },
    {
      name: 'it was, and so much less was free since',
      given: { reading: BETWEEN, before: [[HOUR, '150', '199', '199']] },
    },
    {
      name: 'it was full again after it had enough',
      given: {
        reading: BETWEEN,
        before: [
          [HOUR, '150'],
          [2 * MINUTE, '800'],
          [MINUTE, '150'],
        ],
      },
    },
    {
      name: 'had enough and was at the threshold within one bucket, and ended between them',
      given: { reading: BETWEEN, before: [[MINUTE, '150', '800', '180']] },
    },
  ])('$name: the reclaim is justified', ({ given }) => expect(why(given)).toBeNull());

  test.each<{ name: string; given: Case }>([
    {
      name: 'was longer than two hours ago',
      given: { reading: BETWEEN, before: [[2 * HOUR + MINUTE, '0']] },
    },
    { name: 'was before a reboot', given: { nowMs: HOUR, reading: BETWEEN, before: [[HOUR + MINUTE, '0']] } },
    { name: 'is over by what is free now', given: { before: [[MINUTE, '0']] } },
    {
      name: 'was over meanwhile',
      given: {
        reading: BETWEEN,
        before: [
          [HOUR, '0'],
          [MINUTE, '200', '210', '205'],
        ],
      },
    },
    {
      name: 'was over at the end of its bucket',
      given: { reading: BETWEEN, before: [[HOUR, '0', '210', '205']] },
    },
    {
      name: 'was over before an order that claims to want all of the disk',
      given: {
        reading: BETWEEN,
        before: [
          [HOUR, '0'],
          [MINUTE, '200'],
        ],
        ordered: wanting('1000'),
      },
    },
  ])('what $name asks for nothing any more', ({ given }) => expect(why(given)).not.toBeNull());

  test('a disk that cannot be read asks for nothing', () => {
    expect(why({ reading: { availableBytes: null } })).toBe(
      'what imagefs has of availableBytes is not known here',
    );
  });

  test('[A1] nor do inodes that cannot be read', () => {
    const target = { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '200' } as const;
    expect(why({ reading: { inodesFree: null }, ordered: { ...caused('imageGCInodes'), target } })).toBe(
      'what imagefs has of inodesFree is not known here',
    );
  });
});

describe('other usage thresholds', () => {
  const available = { startBelowBytes: '300', untilBytes: '400' };
  const inodes = { highThresholdPercent: 90, lowThresholdPercent: 80 };
  const ofInodes = {
    ...caused('imageGCInodes'),
    target: { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '200' },
  } as const;

  test.each<{ name: string; given: Case; isMet: boolean }>([
    {
      name: 'bytes below the absolute limit',
      given: {
        reading: { availableBytes: '299' },
        settings: { imageGCAvailable: available },
        ordered: { ...caused('imageGCAvailable'), ...wanting('400') },
      },
      isMet: true,
    },
    {
      name: 'bytes at the absolute limit',
      given: {
        reading: { availableBytes: '300' },
        settings: { imageGCAvailable: available },
        ordered: { ...caused('imageGCAvailable'), ...wanting('400') },
      },
      isMet: false,
    },
    {
      name: 'an absolute limit that the policy has not',
      given: { reading: { availableBytes: '0' }, ordered: caused('imageGCAvailable') },
      isMet: false,
    },
    {
      name: 'inodes used to their threshold',
      given: { reading: { inodesFree: '100' }, settings: { imageGCInodes: inodes }, ordered: ofInodes },
      isMet: true,
    },
    {
      name: 'inodes of a policy without thresholds for them',
      given: { reading: { inodesFree: '0' }, ordered: ofInodes },
      isMet: false,
    },
    {
      name: 'inodes used to just below it',
      given: { reading: { inodesFree: '110' }, settings: { imageGCInodes: inodes }, ordered: ofInodes },
      isMet: false,
    },
  ])('[M13, M39] $name: met is $isMet', ({ given, isMet }) => expect(why(given) === null).toBe(isMet));
});

describe('eviction signals', () => {
  test('[J9] below the threshold: justified', () => {
    expect(why({ ...EVICTION, reading: { availableBytes: '149' } })).toBeNull();
  });

  test('[J9] between the threshold and its minimum reclaim: not, unless it was below lately', () => {
    const minimum = {
      evictionThresholds: [{ ...threshold('imagefs.available', 15), minimumReclaim: { percent: 10 } }],
    };
    const ordered = { ...EVICTION.ordered, ...wanting('250') };
    const between: Case = { settings: minimum, ordered, reading: { availableBytes: '200' } };
    expect(why(between)).not.toBeNull();
    expect(why({ ...between, before: [[MINUTE, '149']] })).toBeNull();
    expect(
      why({
        ...between,
        before: [
          [2 * MINUTE, '149'],
          [MINUTE, '250'],
        ],
      }),
    ).not.toBeNull();
  });

  describe('[J11] a soft threshold with a grace of three minutes', () => {
    const soft: Case = {
      ...EVICTION,
      settings: {
        evictionThresholds: [
          { ...threshold('imagefs.available', 15), kind: 'soft', gracePeriodMs: 3 * MINUTE },
        ],
      },
    };
    const minutesAgo = (...agoMinutes: readonly number[]): Before[] =>
      agoMinutes.map((minutes) => [minutes * MINUTE, '100']);

    test.each<{ name: string; given: Case; isMet: boolean }>([
      {
        name: 'below it for so long, now',
        given: { reading: { availableBytes: '100' }, before: minutesAgo(3, 2, 1) },
        isMet: true,
      },
      {
        name: 'below it for so long, an hour ago',
        given: { reading: BETWEEN, before: minutesAgo(63, 62, 61, 60) },
        isMet: true,
      },
      { name: 'below it for a moment', given: { reading: BETWEEN, before: minutesAgo(60) }, isMet: false },
      {
        name: 'below it now, and not for so long',
        given: { reading: { availableBytes: '100' }, before: minutesAgo(2, 1) },
        isMet: false,
      },
      {
        name: 'below it with a break',
        given: {
          reading: { availableBytes: '100' },
          before: [...minutesAgo(3), [2 * MINUTE, '100', '160', '100'], ...minutesAgo(1)],
        },
        isMet: false,
      },
      {
        name: 'below it while nobody looked',
        given: { reading: { availableBytes: '100' }, before: minutesAgo(4, 1) },
        isMet: false,
      },
    ])('$name: justified is $isMet', ({ given, isMet }) =>
      expect(why({ ...soft, ...given }) === null).toBe(isMet),
    );
  });

  test('[J9] exactly at the threshold: not justified', () => {
    expect(why({ ...EVICTION, reading: { availableBytes: '150' } })).not.toBeNull();
  });

  describe('[J13] of the thresholds in force, those of that disk and resource count', () => {
    /** The order is of imagefs, which has 190 free; all that the signal itself asks for is 150. */
    const low = threshold('imagefs.available', 15);
    const justifiedBy = (
      other: ReturnType<typeof threshold>,
      apart: Partial<OwnReadings['filesystems']> = {},
    ) =>
      whyNotMetLately(
        reclaim({ ...caused('imagefs.available'), ...wanting('300') }),
        {
          filesystems: { ...filesystems({ availableBytes: '190' }), ...apart },
          history: NO_DISK_HISTORY,
          nowMs: NOW_MS,
        },
        policy({ evictionThresholds: [low, other] }),
      ) === null;

    test.each([
      { name: 'under another name of the disk', other: threshold('nodefs.available', 20), is: true },
      { name: 'of its inodes', other: threshold('imagefs.inodesFree', 95), is: false },
      {
        name: 'of another disk',
        other: threshold('nodefs.available', 20),
        apart: { nodefs: filesystem({ device: '8:2', availableBytes: '190' }) },
        is: false,
      },
      {
        name: '[J3] while it is not known what shares a disk',
        other: threshold('imagefs.available', 20),
        apart: { containerfs: null },
        is: false,
      },
    ])('$name: $is', ({ other, apart, is }) => expect(justifiedBy(other, apart)).toBe(is));
  });

  test('a signal for which the policy has no threshold: not justified, however full the disk is', () => {
    expect(why({ reading: { availableBytes: '0' }, ordered: caused('imagefs.available') })).not.toBeNull();
  });
});
