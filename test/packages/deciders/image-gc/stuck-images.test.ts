import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryCase, type Case } from './support/arbitrary-case.ts';

const PROFILES = ['fleetgc', 'kubelet'] as const;
const FAILED = { failures: 9, untilMs: NOW + 1 };

/** 100 bytes are missing; what failed is the first to go, and large enough by its listed size. */
const failed = image('failed', { sizeBytes: 150, lastUsedMs: null, backoff: FAILED });
const given = inventory({
  images: [failed, ...['a', 'b', 'c'].map((id) => image(id, { sizeBytes: 150 }))],
  reclaim: reclaim(),
});
const settingsOf = (profile: Policy['profile']): Policy =>
  policy({ profile, keep: keepList({ unpullable: false }) });

test.each(PROFILES)('[M17, M33, D11] a command goes on to the next image, in profile %s', (profile) => {
  const { items, verdicts } = decide(given, settingsOf(profile));
  expect(items.map(({ id }) => id)).toEqual(['a']);
  expect(verdicts[0]).toMatchObject({ action: 'keep', rule: 'M33' });
});

test.each(PROFILES)('[E6, M17] by age neither does it go, in profile %s', (profile) => {
  const settings = { ...settingsOf(profile), imageMaximumGCAgeMs: 1 };
  const { items } = decide({ ...given, reclaim: null }, settings);
  expect(items.map(({ id, rule }) => `${id} ${rule}`)).toEqual(['a E3', 'b E3']);
});

test('[M33, D11] of a whole pass: the kubelet tries again what failed, FleetGC does not', () => {
  const planned = (profile: Policy['profile']) =>
    planImages(given, settingsOf(profile), 'usage').removals.map(({ image: { id } }) => id);
  expect({ kubelet: planned('kubelet'), fleetgc: planned('fleetgc') }).toEqual({
    kubelet: ['failed'],
    fleetgc: ['a'],
  });
});

describe('[M17, M33, E6] whatever images fail to go', () => {
  /** What a node makes of a command of which these images do not go, for its next inventory. */
  function after(before: CompleteInventory, settings: Policy, stuck: ReadonlySet<string>): CompleteInventory {
    const named = new Set(decide(before, settings).items.map(({ id }) => id));
    const isRemoved = (id: string): boolean => named.has(id) && !stuck.has(id);
    const freed = before.images
      .filter(({ id }) => isRemoved(id))
      .reduce((sum, one) => sum + one.sizeBytes, 0);
    const { availableBytes = '0', inodesFree = '0' } = before.filesystems.imagefs ?? {};
    return {
      ...before,
      reclaim: before.reclaim && { ...before.reclaim, round: 2 },
      filesystems: filesystems({ inodesFree, availableBytes: String(Number(availableBytes) + freed) }),
      images: before.images
        .filter(({ id }) => !isRemoved(id))
        .map((one) => (named.has(one.id) ? { ...one, backoff: FAILED } : one)),
    };
  }

  /** The inventory on which nothing more goes; `null` when none is reached, though each round is to bring it nearer. */
  function atEnd({ given: first, settings }: Case, stuck: ReadonlySet<string>): CompleteInventory | null {
    let now = first;
    for (let round = 0; round <= first.images.length; round++) {
      if (decide(now, settings).items.length === 0) return now;
      now = after(now, settings, stuck);
    }
    return null;
  }

  test('every other image has its turn, until the target is reached', () => {
    fc.assert(
      fc.property(arbitraryCase, fc.nat(0xfffff), (one, seed) => {
        const stuck = one.given.images.filter((_, index) => ((seed >> index) & 1) === 1);
        const end = atEnd(one, new Set(stuck.map(({ id }) => id)));
        expect(end).not.toBeNull();
        const left = end === null ? [] : decide(end, one.settings).verdicts;
        expect(left.filter(({ action, rule }) => action === 'remove' || ['P4', 'P5'].includes(rule))).toEqual(
          [],
        );
      }),
      runs(1_500),
    );
  });
});
