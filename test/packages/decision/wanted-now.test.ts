import { describe, expect, test } from 'vitest';
import { missed, type Wanted, wantedNow } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import {
  type FilesystemReadings,
  LARGEST_UINT64,
  type FilesystemReading as Reading,
} from '../../../schemas/events/filesystem.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../fixtures/filesystems.ts';
import { policy, threshold } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';

interface Case {
  readonly signal: string;
  readonly reading?: string;
  readonly target?: Partial<ReclaimTarget>;
  readonly disks?: FilesystemReadings;
  readonly settings?: Partial<Policy>;
}

const order = ({ signal, reading = '90%', target = {} }: Case) =>
  reclaim({
    cause: { ...reclaim().cause, signal, reading },
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: LARGEST_UINT64, ...target },
  });

/** What is left of an order that wants more than any disk has. */
const wanted = (given: Case): Wanted =>
  wantedNow(
    order(given),
    given.disks ?? filesystems(),
    policy({ evictionThresholds: [], ...given.settings }),
  );

const atLeast = (given: Case): string => {
  expect(wanted(given).unwanted).toBeNull();
  return wanted(given).reclaim.target.atLeast;
};

const unwanted = (given: Case) => {
  const found = wanted(given);
  expect(found).toMatchObject({ shrunk: null, isPressed: false, reclaim: order(given) });
  return found.unwanted;
};

const ON_IMAGEFS = [threshold('imagefs.available', 15)];
/** Images and writable layers on a disk of their own. */
const dedicated = (nodefs: Partial<Reading> = {}, imagefs: Partial<Reading> = {}): FilesystemReadings => ({
  ...filesystems(imagefs),
  nodefs: filesystem({ device: '8:2', ...nodefs }),
});

describe('a reclaim of an eviction signal', () => {
  const evicting: Case = {
    signal: 'imagefs.available',
    settings: { evictionThresholds: ON_IMAGEFS, imageGCHighThresholdPercent: 100 },
  };

  test('[J10] wants what its threshold asks for, in words that name policy and amounts', () => {
    expect(wanted(evicting)).toMatchObject({
      isPressed: true,
      shrunk: `policy default now asks for 150 bytes, less than the ${LARGEST_UINT64} that were ordered`,
    });
    expect(atLeast(evicting)).toBe('150');
  });

  test('[J9] is pressed below the threshold, and no more at it', () => {
    const at = (availableBytes: string) => wanted({ ...evicting, disks: filesystems({ availableBytes }) });
    expect(at('149').isPressed).toBe(true);
    expect(at('150').isPressed).toBe(false);
  });

  test.each<{ name: string; given: Partial<Case>; rule: string; reason: string }>([
    {
      name: '[M16] forced GC is off',
      given: { settings: { ...evicting.settings, forcedGC: false } },
      rule: 'M16',
      reason: 'policy default now lets no eviction threshold remove anything',
    },
    {
      name: '[J3] one of the disks could not be read',
      given: { disks: { ...filesystems(), containerfs: null } },
      rule: 'J3',
      reason: 'it is not known which filesystems of the node share a disk',
    },
    {
      name: '[J9] the policy has only thresholds for other signals',
      given: { settings: { evictionThresholds: [threshold('nodefs.available', 15)] } },
      rule: 'J9',
      reason: 'policy default now has no eviction threshold for imagefs.available',
    },
    {
      name: '[J9] the target counts something else than the signal',
      given: { target: { resource: 'inodesFree' } },
      rule: 'J9',
      reason: 'the target of the reclaim is not what imagefs.available watches',
    },
    {
      name: '[J13] the target lies on another disk than the signal watches',
      given: { disks: dedicated(), target: { filesystem: 'nodefs' } },
      rule: 'J9',
      reason: 'the target of the reclaim is not what imagefs.available watches',
    },
    {
      name: '[J8] how much is free could not be read',
      given: { disks: filesystems({ availableBytes: null }) },
      rule: 'J8',
      reason: 'what imagefs has of availableBytes is not known',
    },
    {
      name: '[J8] the inodes are not counted',
      given: {
        signal: 'imagefs.inodesFree',
        settings: { evictionThresholds: [threshold('imagefs.inodesFree', 5)] },
        target: { resource: 'inodesFree' },
        disks: filesystems({ inodes: '0', inodesFree: '0' }),
      },
      rule: 'J8',
      reason: 'what imagefs has of inodesFree is not known',
    },
  ])('$name: wants nothing, and says why', ({ given, rule, reason }) => {
    expect(unwanted({ ...evicting, ...given })).toEqual({ rule, reason });
  });

  test('[J13] the same disk under another name: wants what the strictest of its thresholds asks for', () => {
    const settings = {
      ...evicting.settings,
      evictionThresholds: [...ON_IMAGEFS, threshold('nodefs.available', 30)],
    };
    expect(atLeast({ ...evicting, settings, target: { filesystem: 'nodefs' } })).toBe('300');
  });

  test('[J13] thresholds of another disk, or of inodes, do not count', () => {
    const settings = {
      ...evicting.settings,
      evictionThresholds: [
        ...ON_IMAGEFS,
        threshold('nodefs.available', 30),
        threshold('imagefs.inodesFree', 40),
      ],
    };
    expect(atLeast({ ...evicting, settings, disks: dedicated() })).toBe('150');
  });

  test('[J10] no more than the disk has in all', () => {
    const minimumReclaim = { quantity: '5000' };
    const settings = {
      ...evicting.settings,
      evictionThresholds: [{ ...threshold('imagefs.available', 15), minimumReclaim }],
    };
    expect(atLeast({ ...evicting, settings })).toBe('1000');
  });

  describe('[J13] goes on to the target of image GC', () => {
    const low = { imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 70 };
    const until = { imageGCAvailable: { startBelowBytes: '150', untilBytes: '420' } };
    const nodefs: Case = {
      signal: 'nodefs.available',
      target: { filesystem: 'nodefs' },
      settings: { evictionThresholds: [threshold('nodefs.available', 15)] },
    };
    const ofInodes: Case = {
      signal: 'imagefs.inodesFree',
      target: { resource: 'inodesFree' },
      settings: { evictionThresholds: [threshold('imagefs.inodesFree', 92.5)] },
    };

    test.each<{ name: string; base: Case; more: Partial<Policy>; disks?: FilesystemReadings; is: string }>([
      { name: 'the low threshold', base: evicting, more: low, is: '300' },
      { name: 'the absolute one', base: evicting, more: until, is: '420' },
      { name: 'the larger of both', base: evicting, more: { ...low, ...until }, is: '420' },
      { name: 'on a disk with images of another name', base: nodefs, more: low, is: '300' },
      { name: 'not on a disk without images', base: nodefs, more: low, disks: dedicated(), is: '150' },
      {
        name: 'not for inodes',
        base: ofInodes,
        more: { ...low, imageGCAvailable: { startBelowBytes: '1', untilBytes: '990' } },
        is: '925',
      },
    ])('$name', ({ base, more, disks, is }) => {
      expect(atLeast({ ...base, ...(disks && { disks }), settings: { ...base.settings, ...more } })).toBe(is);
    });

    test('not where imagefs is not believed', () => {
      const disks = dedicated({ device: '8:1' }, { availableBytes: null });
      const settings = { ...nodefs.settings, ...low };
      expect(atLeast({ ...nodefs, disks, settings })).toBe('150');
    });
  });

  test('[M13] of inodes is held against inodes', () => {
    const settings = { evictionThresholds: [threshold('imagefs.inodesFree', 92.5)] };
    const given: Case = { signal: 'imagefs.inodesFree', target: { resource: 'inodesFree' }, settings };
    expect(wanted(given)).toMatchObject({
      isPressed: true,
      shrunk: `policy default now asks for 925 inodes, less than the ${LARGEST_UINT64} that were ordered`,
    });
    expect(wanted({ ...given, disks: filesystems({ inodesFree: '925' }) }).isPressed).toBe(false);
  });
});

describe('a reclaim of a usage threshold', () => {
  const imageGCAvailable = { startBelowBytes: '150', untilBytes: '400' };
  const imageGCInodes = { highThresholdPercent: 90, lowThresholdPercent: 70 };
  const ofInodes: Case = { signal: 'imageGCInodes', target: { resource: 'inodesFree' } };

  test.each<{ name: string; given: Case; is: string }>([
    { name: '[D6] percent', given: { signal: 'imageGC' }, is: '200' },
    { name: '[D6] percent, at the high threshold', given: { signal: 'imageGC', reading: '85%' }, is: '200' },
    { name: '[D6] percent, of a full disk', given: { signal: 'imageGC', reading: '100%' }, is: '200' },
    {
      name: '[D2] percent, switched off, with a maximum age',
      given: {
        signal: 'imageGC',
        reading: '100%',
        settings: { imageGCHighThresholdPercent: 100, imageMaximumGCAgeMs: 1 },
      },
      is: '200',
    },
    {
      name: '[M39] absolute',
      given: { signal: 'imageGCAvailable', settings: { imageGCAvailable } },
      is: '400',
    },
    {
      name: '[M39] absolute, all of the disk',
      given: {
        signal: 'imageGCAvailable',
        settings: { imageGCAvailable: { ...imageGCAvailable, untilBytes: '1000' } },
      },
      is: '1000',
    },
    {
      name: '[M39] absolute, of a disk whose size is not known',
      given: {
        signal: 'imageGCAvailable',
        settings: { imageGCAvailable },
        disks: filesystems({ capacityBytes: null }),
      },
      is: '400',
    },
    { name: '[M13] inodes', given: { ...ofInodes, settings: { imageGCInodes } }, is: '300' },
    {
      name: '[A1] percent, of a disk that could not be read: as ordered',
      given: { signal: 'imageGC', disks: filesystems({ availableBytes: null }) },
      is: LARGEST_UINT64,
    },
    {
      name: '[D5] inodes that are not counted: as ordered',
      given: {
        ...ofInodes,
        settings: { imageGCInodes },
        disks: filesystems({ inodes: '0', inodesFree: '0' }),
      },
      is: LARGEST_UINT64,
    },
  ])('$name: wants what the policy asks for, and is no pressure', ({ given, is }) => {
    expect(atLeast(given)).toBe(is);
    expect(wanted(given).isPressed).toBe(false);
  });

  test.each<{ name: string; given: Case; rule: string; reason: string }>([
    {
      name: '[D1] percent, switched off',
      given: { signal: 'imageGC', reading: '100%', settings: { imageGCHighThresholdPercent: 100 } },
      rule: 'D1',
      reason: 'policy default now switches image GC by usage off (high threshold 100%)',
    },
    {
      name: '[D6] percent, begun below the high threshold',
      given: { signal: 'imageGC', reading: '84%' },
      rule: 'D6',
      reason: 'imagefs was used to 84% when this reclaim began, which is below the 85% of policy default now',
    },
    {
      name: '[M39] absolute, of a policy without',
      given: { signal: 'imageGCAvailable' },
      rule: 'M39',
      reason: 'policy default now has no absolute threshold for images',
    },
    {
      name: '[M39] absolute, more than the disk has',
      given: {
        signal: 'imageGCAvailable',
        settings: { imageGCAvailable: { ...imageGCAvailable, untilBytes: '1001' } },
      },
      rule: 'M39',
      reason: 'imagefs is smaller than the 1001 bytes of policy default',
    },
    {
      name: '[M13] inodes, of a policy without',
      given: ofInodes,
      rule: 'M13',
      reason: 'policy default now removes no image to free inodes',
    },
    {
      name: '[D6, M13] inodes, begun below the high threshold',
      given: { ...ofInodes, reading: '89%', settings: { imageGCInodes } },
      rule: 'D6',
      reason:
        'the inodes of imagefs was used to 89% when this reclaim began, which is below the 90% of policy default now',
    },
    ...['imageGC', 'imageGCAvailable', 'imageGCInodes'].flatMap((signal) => [
      {
        name: `[D6] ${signal}, of another filesystem`,
        given: {
          signal,
          settings: { imageGCAvailable, imageGCInodes },
          target: {
            filesystem: 'nodefs',
            resource: signal === 'imageGCInodes' ? 'inodesFree' : 'availableBytes',
          },
        } as const,
        rule: 'D6',
        reason: `the target of the reclaim is not what ${signal} watches`,
      },
      {
        name: `[D6] ${signal}, of another resource`,
        given: {
          signal,
          settings: { imageGCAvailable, imageGCInodes },
          target: { resource: signal === 'imageGCInodes' ? 'availableBytes' : 'inodesFree' },
        } as const,
        rule: 'D6',
        reason: `the target of the reclaim is not what ${signal} watches`,
      },
    ]),
  ])('$name: wants nothing, and says why', ({ given, rule, reason }) => {
    expect(unwanted(given)).toEqual({ rule, reason });
  });

  test.each(['full', '90', '%', '1000%', ' 90%', '90% ', '-90%', '90.5%', ''])(
    '[D6] a beginning of %j is not believed',
    (reading) => {
      const why = { rule: 'D6', reason: 'it is not known which usage began this reclaim' };
      expect(unwanted({ signal: 'imageGC', reading })).toEqual(why);
      expect(unwanted({ ...ofInodes, reading, settings: { imageGCInodes } })).toEqual(why);
    },
  );
});

test.each<{ name: string; target: string; expected: Pick<Wanted, 'shrunk'> & { atLeast: string } }>([
  { name: 'more than was ordered: as ordered', target: '199', expected: { atLeast: '199', shrunk: null } },
  { name: 'as much as was ordered: as ordered', target: '200', expected: { atLeast: '200', shrunk: null } },
  {
    name: 'less than was ordered: less',
    target: '201',
    expected: {
      atLeast: '200',
      shrunk: 'policy default now asks for 200 bytes, less than the 201 that were ordered',
    },
  },
])('[D6] a policy that asks for $name', ({ target, expected }) => {
  const { reclaim: left, shrunk } = wanted({ signal: 'imageGC', target: { atLeast: target } });
  expect({ atLeast: left.target.atLeast, shrunk }).toEqual(expected);
});

test('[J8] what a target misses is what is free; nothing where that is enough, or not known', () => {
  const target = reclaim().target;
  expect(missed(target, filesystems({ availableBytes: '199' }))).toBe('199');
  expect(missed(target, filesystems({ availableBytes: '200' }))).toBeNull();
  expect(missed(target, filesystems({ availableBytes: null }))).toBeNull();
  expect(missed(target, { ...filesystems(), imagefs: null })).toBeNull();
});
