import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addFreed,
  freedSpace,
  knownBytes,
  NOTHING_FREED,
  withFreed,
} from '../../../packages/decision/freed-space.ts';
import { runs } from '../../support/property-runs.ts';

const measured = (beforeBytes: number, afterBytes: number) => ({
  filesystem: 'imagefs' as const,
  beforeBytes: String(beforeBytes),
  afterBytes: String(afterBytes),
});

describe('what a removal freed', () => {
  test('is what the disk gained', () => {
    expect(freedSpace(measured(10, 25), 20)).toEqual({ how: 'measured', bytes: 15n, filesystem: 'imagefs' });
  });

  test('is known as it was measured, whatever was estimated', () => {
    expect(knownBytes(freedSpace(measured(10, 25), 20))).toBe(15n);
  });

  test('and what others freed is told together, measured and estimated apart', () => {
    const some = { freedBytes: 10n, unmeasured: 2, estimatedBytes: 30n };
    const more = { freedBytes: 1n, unmeasured: 3, estimatedBytes: 5n };
    expect(addFreed(some, more)).toEqual({ freedBytes: 11n, unmeasured: 5, estimatedBytes: 35n });
    expect(withFreed(some, freedSpace(null, 7))).toEqual({ ...some, unmeasured: 3, estimatedBytes: 37n });
    expect(withFreed(some, freedSpace(null, null))).toEqual({ ...some, unmeasured: 3 });
  });

  test('is nothing where the disk gained nothing', () => {
    expect(freedSpace(measured(10, 10), 20)).toMatchObject({ how: 'measured', bytes: 0n });
  });

  test('cannot be measured where something else filled the disk meanwhile: the estimate is left', () => {
    const freed = freedSpace(measured(25, 10), 20);
    expect(freed).toEqual({ how: 'not-measurable', why: 'filled-meanwhile', estimatedBytes: 20n });
    expect(knownBytes(freed)).toBe(20n);
  });

  test('cannot be measured without readings', () => {
    const freed = freedSpace(null, null);
    expect(freed).toEqual({ how: 'not-measurable', why: 'no-reading', estimatedBytes: null });
    expect(knownBytes(freed)).toBeNull();
  });

  test('is never less than nothing, and estimates are never added to what was measured', () => {
    const bytes = fc.nat();
    fc.assert(
      fc.property(fc.array(fc.tuple(bytes, bytes, bytes)), (removals) => {
        const freed = removals.map(([before, after, estimate]) =>
          freedSpace(measured(before, after), estimate),
        );
        const sums = freed.reduce(withFreed, NOTHING_FREED);
        const gained = removals.map(([before, after]) => after - before).filter((gain) => gain >= 0);
        expect(sums.freedBytes).toBe(BigInt(gained.reduce((a, b) => a + b, 0)));
        expect(sums.unmeasured).toBe(removals.length - gained.length);
        expect(sums.estimatedBytes).toBeGreaterThanOrEqual(0n);
        expect(addFreed(sums, NOTHING_FREED)).toEqual(sums);
      }),
      runs(200),
    );
  });
});
