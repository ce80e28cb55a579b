import { describe, expect, test } from 'vitest';
import type { FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import type { ReclaimTarget } from '../../../../schemas/events/reclaim.ts';
import {
  Gauge,
  isReached,
  measuredBetween,
  type Reading,
} from '../../../../services/node/executor/measure.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { manualClock } from '../../../support/manual-clock.ts';

const readingOf = (imagefs: FilesystemReading | null) =>
  new Gauge({ read: async () => ({ ...filesystems(), imagefs }) }, manualClock(), async () => undefined).read(
    'imagefs',
  );

describe('a reading', () => {
  test.each<{ name: string; over: Partial<FilesystemReading>; expected: Reading | null }>([
    { name: 'as it is', over: {}, expected: { availableBytes: 100n, inodesFree: 900n } },
    { name: '[A1] without a capacity is none', over: { capacityBytes: null }, expected: null },
    { name: '[A1] without what is available is none', over: { availableBytes: null }, expected: null },
    {
      name: '[D5, K11] of no capacity is none',
      over: { capacityBytes: '0', availableBytes: '0' },
      expected: null,
    },
    {
      name: '[D4] of more than there is counts as all',
      over: { availableBytes: '1001' },
      expected: { availableBytes: 1000n, inodesFree: 900n },
    },
    {
      name: 'without inodes tells of bytes alone',
      over: { inodesFree: null },
      expected: { availableBytes: 100n, inodesFree: null },
    },
  ])('$name', async ({ over, expected }) => {
    expect(await readingOf(filesystem(over))).toEqual(expected);
  });

  test('[A1] of a disk that cannot be read is none', async () => {
    expect(await readingOf(null)).toBeNull();
  });
});

const BYTES: ReclaimTarget = { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '500' };
const INODES: ReclaimTarget = { ...BYTES, resource: 'inodesFree' };
const having = (availableBytes: bigint, inodesFree: bigint | null = null): Reading => ({
  availableBytes,
  inodesFree,
});

test('a target is reached by what it counts, and nobody knows without a reading of that', () => {
  expect(isReached(BYTES, having(499n, 900n))).toBe(false);
  expect(isReached(BYTES, having(500n))).toBe(true);
  expect(isReached(INODES, having(900n, 499n))).toBe(false);
  expect(isReached(INODES, having(0n, 500n))).toBe(true);
  expect(isReached(INODES, having(900n))).toBeNull();
  expect(isReached(BYTES, null)).toBeNull();
});

test('what was freed is told between two readings, and of none with one alone', () => {
  const command = imageRemoval(['a']);
  expect(measuredBetween(command, having(1n), having(3n))).toEqual({
    filesystem: 'imagefs',
    beforeBytes: '1',
    afterBytes: '3',
  });
  expect(measuredBetween(command, null, having(3n))).toBeNull();
  expect(measuredBetween(command, having(1n), null)).toBeNull();
});

/** Reads the disk until it has settled; it has these amounts free one after the other, and stays at the last. */
async function settling({
  free,
  target = BYTES,
  before = having(100n, 100n),
  estimatedBytes = 0n,
  waitMs = 200,
  stopsAfter = Number.POSITIVE_INFINITY,
  areBytesKnown = false,
}: {
  /** `null`: it cannot be read. */
  readonly free: readonly (number | null)[];
  readonly target?: ReclaimTarget | null;
  readonly before?: Reading | null;
  readonly estimatedBytes?: bigint;
  readonly waitMs?: number;
  readonly stopsAfter?: number;
  /** Whatever can be told of its inodes. */
  readonly areBytesKnown?: boolean;
}) {
  const clock = manualClock();
  const stopping = new AbortController();
  const slept: number[] = [];
  let readings = 0;
  const gauge = new Gauge(
    {
      read: async () => {
        const amount = free[Math.min(readings, free.length - 1)] ?? null;
        const now = amount === null ? null : String(amount);
        readings += 1;
        return filesystems({ availableBytes: areBytesKnown ? '100' : now, inodesFree: now });
      },
    },
    clock,
    async (ms) => {
      slept.push(ms);
      clock.advance(ms);
      if (slept.length >= stopsAfter) stopping.abort();
    },
  );
  const reading = await gauge.settled(
    { filesystem: 'imagefs', target, before, estimatedBytes, waitMs },
    stopping.signal,
  );
  return { free: reading?.availableBytes, readings, slept };
}

describe('[M7, M21] after a removal the disk is read', () => {
  test('once where its target is reached', async () => {
    expect(await settling({ free: [500] })).toEqual({ free: 500n, readings: 1, slept: [] });
  });

  test.each([
    { name: 'nobody waits for a target', given: { target: null } },
    { name: 'it could not be read before', given: { before: null } },
    { name: 'its inodes could not be read before', given: { target: INODES, before: having(100n) } },
    { name: 'nobody waits', given: { waitMs: 0 } },
  ])('once where $name', async ({ given }) => {
    expect(await settling({ free: [100], ...given })).toEqual({ free: 100n, readings: 1, slept: [] });
  });

  test('once where it cannot be read any more, nor its inodes', async () => {
    expect(await settling({ free: [null] })).toEqual({ free: undefined, readings: 1, slept: [] });
    expect(await settling({ free: [null], target: INODES, areBytesKnown: true })).toEqual({
      free: 100n,
      readings: 1,
      slept: [],
    });
  });

  test('until what it has free has grown and stands still', async () => {
    const settledAt = { free: 300n, readings: 5, slept: [50, 50, 50, 50] };
    expect(await settling({ free: [100, 100, 200, 300], waitMs: 10_000 })).toEqual(settledAt);
    expect(await settling({ free: [100, 100, 200, 300], target: INODES, waitMs: 10_000 })).toEqual(settledAt);
  });

  test('until its target is reached', async () => {
    expect(await settling({ free: [100, 200, 500, 600] })).toEqual({
      free: 500n,
      readings: 3,
      slept: [50, 50],
    });
  });

  test('for as long as is waited for it, and not once more', async () => {
    expect(await settling({ free: [100] })).toEqual({ free: 100n, readings: 5, slept: [50, 50, 50, 50] });
  });

  test('no longer once the executor is stopped', async () => {
    expect(await settling({ free: [100], stopsAfter: 1 })).toEqual({ free: 100n, readings: 2, slept: [50] });
  });

  test('a hundredth of what an image is counted with is somebody else who frees: it is waited on', async () => {
    expect(await settling({ free: [110], estimatedBytes: 1_000n })).toMatchObject({ readings: 5 });
    expect(await settling({ free: [111], estimatedBytes: 1_000n })).toMatchObject({ readings: 2 });
  });

  test('[M13] sizes tell nothing of inodes: one that came free is enough', async () => {
    expect(await settling({ free: [101], target: INODES, estimatedBytes: 1_000n })).toMatchObject({
      readings: 2,
    });
  });
});
