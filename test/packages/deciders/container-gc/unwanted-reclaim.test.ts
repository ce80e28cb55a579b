import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import { ContainerRemoval } from '../../../../schemas/events/command.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { input } from '../../../fixtures/input.ts';
import { container, inventory, pod } from '../../../fixtures/inventory.ts';
import { policy, policySet } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, nsAgo } from '../../../fixtures/time.ts';

const forcedBy = (signal: string, over = {}) =>
  reclaim({ step: 'containers', cause: { ...reclaim().cause, signal }, ...over });

/** Two dead containers of a pod that has ended: a periodic pass takes the older, a forced one both. */
const node = (overrides: Partial<CompleteInventory> = {}): CompleteInventory =>
  inventory({
    containers: [container('old', { createdAtNs: nsAgo(2 * HOUR) }), container('new')],
    pods: [pod('pod-1', { runtimeRemovable: true })],
    reclaim: forcedBy('imagefs.available'),
    ...overrides,
  });
const only = (signal: string) => ({
  evictionThresholds: policy().evictionThresholds.filter((threshold) => threshold.signal === signal),
});

describe.each(['fleetgc', 'kubelet'] as const)(
  'in profile %s, a reclaim that an eviction signal began',
  (profile) => {
    const decided = (settings: Partial<Policy>, given: Partial<CompleteInventory> = {}) =>
      decide(node(given), policy({ profile, ...settings }));

    test.each<{ name: string; settings: Partial<Policy>; says: string }>([
      {
        name: '[M16] while forced GC is off',
        settings: { forcedGC: false },
        says: 'now lets no eviction threshold remove anything',
      },
      {
        name: '[J9] while the threshold is gone',
        settings: only('nodefs.available'),
        says: 'now has no eviction threshold for imagefs.available',
      },
    ])('$name is none: only what goes without one', ({ settings, says }) => {
      const { items, reason, reclaim: carried } = decided(settings);
      expect(items.map(({ id, rule }) => `${id} ${rule}`)).toEqual(['old G7']);
      expect(reason).toContain(says);
      expect(carried).toBeNull();
      for (const actions of [['containers'], ['containers', 'images']]) {
        const ordered = { containers: [], reclaim: forcedBy('imagefs.available', { actions }) };
        expect(decided(settings, ordered)).toMatchObject({
          outcome: 'nothing-to-do',
          goesOnAt: null,
          unrelievedAt: null,
        });
      }
    });

    test('[G2, G6] is one while there is such a threshold', () => {
      const { items, reason } = decided(only('imagefs.available'));
      expect(reason).toBe('2 container(s) and 0 sandbox(es) go');
      expect(items.map(({ id, rule }) => `${id} ${rule}`)).toEqual(['old G6', 'new G6']);
    });

    test.each([
      { signal: 'nodefs.available', layout: filesystems({ availableBytes: '99' }) },
      { signal: 'imagefs.available', layout: { ...filesystems(), nodefs: filesystem({ device: '8:2' }) } },
    ])('[J6] for containerfs is one while the disk that it shares has a threshold: $signal', (given) => {
      const target = { ...reclaim().target, filesystem: 'containerfs' } as const;
      const ordered = {
        filesystems: given.layout,
        reclaim: forcedBy('containerfs.available', { target }),
      };
      expect(decided(only(given.signal), ordered).items).toHaveLength(2);
      expect(decided(only('nodefs.inodesFree'), ordered).items).toHaveLength(1);
    });

    test('[J10] on a disk that has what its thresholds ask for is none', () => {
      const { items } = decided({}, { filesystems: filesystems({ availableBytes: '900' }) });
      expect(items.map(({ id, rule }) => `${id} ${rule}`)).toEqual(['old G7']);
    });

    test('[J9] for a target that its signal does not watch is none', () => {
      const target = { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '999' } as const;
      const { items, reason } = decided({}, { reclaim: forcedBy('imagefs.available', { target }) });
      expect(items.map(({ rule }) => rule)).toEqual(['G7']);
      expect(reason).toContain('is not what imagefs.available watches');
    });
  },
);

test('[M16] the command of a pass without that reclaim does not carry it', async () => {
  const [, [followUp] = []] = await containerGcHandler(() => policySet({ forcedGC: false }))(
    input('inventory', node()),
  );
  expect(ContainerRemoval.parse(followUp?.event)).toMatchObject({ reclaim: null, items: [{ id: 'old' }] });
});
