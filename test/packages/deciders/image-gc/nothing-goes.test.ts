import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { image, incompleteInventory, tooLargeInventory } from '../../../fixtures/inventory.ts';
import { policy, threshold } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { decided } from './support/decided.ts';

describe('no image goes', () => {
  test.each<{
    name: string;
    facts: Partial<CompleteInventory>;
    rule: string;
    settings?: Partial<Policy>;
  }>([
    {
      name: '[C8, K2] while a container names no image',
      facts: { containersWithoutImage: ['c'] },
      rule: 'C8',
    },
    { name: '[M9] while the sandbox image is not known', facts: { sandboxImageKnown: false }, rule: 'M9' },
    { name: '[C10] while it is not known what pods want', facts: { podImagesKnown: false }, rule: 'C10' },
    {
      name: '[D5] on a capacity of 0',
      facts: { filesystems: filesystems({ capacityBytes: '0', availableBytes: '0' }) },
      rule: 'D5',
    },
    {
      name: '[M37, K11] on more available than there is',
      facts: { filesystems: filesystems({ availableBytes: '1001' }) },
      rule: 'M37',
    },
    {
      name: '[A1] on a capacity that is missing',
      facts: { filesystems: filesystems({ capacityBytes: null }) },
      rule: 'A1',
    },
    {
      name: '[A1] on available space that is missing',
      facts: { filesystems: filesystems({ availableBytes: null }) },
      rule: 'A1',
    },
    {
      name: '[A1] on a filesystem that could not be read',
      facts: { filesystems: { ...filesystems(), imagefs: null } },
      rule: 'A1',
    },
    {
      name: '[A2] for a filesystem that holds no images',
      facts: {
        filesystems: { ...filesystems(), nodefs: filesystem({ device: '8:2' }) },
        reclaim: reclaim({
          cause: { ...reclaim().cause, signal: 'nodefs.available' },
          target: { ...reclaim().target, filesystem: 'nodefs' },
        }),
      },
      settings: { evictionThresholds: [threshold('nodefs.available', 20)] },
      rule: 'A2',
    },
  ])('$name', ({ facts, rule, settings }) => {
    const { outcome, items, notBelieved, verdicts } = decided([image('a')], facts, settings);
    expect({ outcome, items }).toEqual({ outcome: 'not-believed', items: [] });
    expect(notBelieved.map((doubt) => doubt.rule)).toEqual([rule]);
    expect(verdicts[0]).toMatchObject({ action: 'keep', rule });
  });

  test.each([
    { name: 'incomplete', given: incompleteInventory, says: 'runtime-changed-meanwhile' },
    { name: 'too large', given: tooLargeInventory, says: '30000 images' },
  ])('[P3] on an inventory that is $name', ({ given, says }) => {
    const { outcome, items, notBelieved } = decide({ ...given, reclaim: reclaim() }, policy());
    expect({ outcome, items }).toEqual({ outcome: 'not-believed', items: [] });
    expect(notBelieved[0]?.message).toContain(says);
  });

  test('[P6] without a reclaim; what else keeps an image is told all the same', () => {
    const { outcome, items, verdicts } = decided([image('a'), image('b', { pinned: true })], {
      reclaim: null,
    });
    expect({ outcome, items }).toEqual({ outcome: 'nothing-to-do', items: [] });
    expect(verdicts.slice(0, 2).map(({ rule }) => rule)).toEqual(['P6', 'D7']);
  });

  test('[P6] at the step of the containers', () => {
    const given = { reclaim: reclaim({ step: 'containers' }) };
    expect(decided([image('a')], given)).toMatchObject({ outcome: 'waits-for-containers', items: [] });
    const doubtful = decided([image('a')], { ...given, sandboxImageKnown: false });
    expect(doubtful.notBelieved.map(({ rule }) => rule)).toEqual(['M9']);
  });

  test('[M9] what is not believed is told without a reclaim too', () => {
    const { outcome, notBelieved } = decided([], { reclaim: null, sandboxImageKnown: false });
    expect(outcome).toBe('not-believed');
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['M9']);
  });
});
