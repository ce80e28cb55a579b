import { describe, expect, test } from 'vitest';
import type { Bucket } from '../../../schemas/disk-stats.ts';
import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import { NO_DISK_HISTORY } from '../../../services/node-agent/disk-history.ts';
import { type OwnReadings, whyNotMetLately } from '../../../services/shared/decision/met-lately.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { policy, threshold } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, MINUTE } from '../../fixtures/time.ts';

const NOW_MS = 10 * HOUR;

interface Case {
  /** Of 1000 bytes and 1000 inodes, now. */
  readonly reading?: Partial<FilesystemReading>;
  /** The least that was available, so long ago. */
  readonly before?: { readonly least: string; readonly agoMs: number };
  readonly settings?: Partial<Policy>;
  readonly ordered?: Partial<Reclaim>;
}

function why({ reading = { availableBytes: '500' }, before, settings = {}, ordered = {} }: Case = {}) {
  const buckets: Bucket[] = before ? [[NOW_MS - before.agoMs, before.least, '900', '900']] : [];
  const imagefs = { availableBytes: buckets, inodesFree: buckets };
  const readings: OwnReadings = {
    filesystems: filesystems({ capacityBytes: '1000', inodes: '1000', inodesFree: '900', ...reading }),
    history: { ...NO_DISK_HISTORY, imagefs },
    nowMs: NOW_MS,
  };
  return whyNotMetLately(reclaim(ordered), readings, policy({ evictionThresholds: [], ...settings }));
}

const caused = (signal: string): Partial<Reclaim> => ({
  cause: { ...reclaim().cause, signal, reading: '99%' },
});
const EVICTION: Case = {
  settings: { evictionThresholds: [threshold('imagefs.available', 15)] },
  ordered: caused('imagefs.available'),
};

describe('usage in percent', () => {
  test('the claimed reading counts for nothing', () => {
    expect(why()).toMatch(
      /never less than 500 of 1000 free .* meets no threshold of policy default for imageGC$/,
    );
  });

  test.each<{ name: string; given: Case }>([
    { name: 'the disk is at the threshold now', given: { reading: { availableBytes: '150' } } },
    { name: 'it was an hour ago', given: { before: { least: '150', agoMs: HOUR } } },
  ])('$name: the reclaim is justified', ({ given }) => expect(why(given)).toBeNull());

  test('what was longer than two hours ago asks for nothing any more', () => {
    expect(why({ before: { least: '0', agoMs: 2 * HOUR + MINUTE } })).not.toBeNull();
  });

  test('a disk that cannot be read asks for nothing', () => {
    expect(why({ reading: { availableBytes: null } })).toBe(
      'what imagefs has of availableBytes is not known here',
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
        ordered: caused('imageGCAvailable'),
      },
      isMet: true,
    },
    {
      name: 'bytes at the absolute limit',
      given: {
        reading: { availableBytes: '300' },
        settings: { imageGCAvailable: available },
        ordered: caused('imageGCAvailable'),
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
    const between: Case = { ...EVICTION, settings: minimum, reading: { availableBytes: '200' } };
    expect(why(between)).not.toBeNull();
    expect(why({ ...between, before: { least: '149', agoMs: MINUTE } })).toBeNull();
  });

  test('a signal for which the policy has no threshold: not justified, however full the disk is', () => {
    expect(why({ reading: { availableBytes: '0' }, ordered: caused('imagefs.available') })).not.toBeNull();
  });
});
