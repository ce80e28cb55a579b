import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pressure/decide.ts';
import { layoutOf } from '../../../../packages/decision/thresholds/filesystem-usage.ts';
import type { ReclaimAction } from '../../../../schemas/events/reclaim.ts';
import type { EvictionSignal } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { DEDICATED, disks, evictionPolicy, readings, SINGLE, SPLIT, threshold } from './node-disks.ts';

describe('layout', () => {
  test.each([
    { name: '[J1] one device for all is a single filesystem', given: SINGLE, layout: 'single' },
    { name: '[J1] images and layers on another device than the node', given: DEDICATED, layout: 'dedicated' },
    { name: '[J2, J4] images alone on another device', given: SPLIT, layout: 'split' },
    {
      name: '[J2] three devices',
      given: { imagefs: { device: '8:2' }, containerfs: { device: '8:3' } },
      layout: 'split',
    },
    {
      name: '[J1, J2] layers apart from images that lie with the node',
      given: { containerfs: { device: '8:3' } },
      layout: 'single',
    },
  ])('$name: $layout', ({ given, layout }) => {
    expect(layoutOf(readings(given))).toBe(layout);
  });

  test.each(['nodefs', 'imagefs', 'containerfs'] as const)(
    '[J3, J8] is not known while %s cannot be read, and then no threshold is met',
    (name) => {
      const full = { nodefs: FULL, imagefs: FULL, containerfs: FULL, [name]: null };
      expect(layoutOf(readings(DEDICATED, full))).toBeNull();
      const { outcome, begin, notBelieved } = decide(disks(DEDICATED, full), evictionPolicy(ALL));
      expect({ outcome, begin }).toEqual({ outcome: 'not-believed', begin: null });
      expect(notBelieved).toMatchObject([{ rule: 'A1', message: expect.stringContaining(name) }]);
    },
  );

  test('[J3] follows each reading: a disk that was mounted late is seen by the next', () => {
    const policy = evictionPolicy([threshold('nodefs.available')]);
    const actions = (layout: typeof SINGLE) => decide(disks(layout, { nodefs: FULL }), policy).begin?.actions;
    expect(actions(SINGLE)).toEqual(['containers', 'images']);
    expect(actions(DEDICATED)).toEqual(['containers']);
  });
});

const FULL = { availableBytes: '0', inodesFree: '0' };
const ALL = [
  threshold('nodefs.available'),
  threshold('nodefs.inodesFree'),
  threshold('imagefs.available'),
  threshold('imagefs.inodesFree'),
];
const BOTH: readonly ReclaimAction[] = ['containers', 'images'];
const LAYOUTS = { single: SINGLE, dedicated: DEDICATED, split: SPLIT } as const;

interface Row {
  readonly signal: EvictionSignal;
  readonly layout: keyof typeof LAYOUTS;
  readonly actions: readonly ReclaimAction[];
  readonly profile?: Policy['profile'];
}

describe('[J5, J7, M24] what is done for a signal', () => {
  const rows: readonly Row[] = (['available', 'inodesFree'] as const).flatMap((resource): readonly Row[] => [
    { signal: `nodefs.${resource}`, layout: 'single', actions: BOTH },
    { signal: `nodefs.${resource}`, layout: 'dedicated', actions: [], profile: 'kubelet' },
    { signal: `nodefs.${resource}`, layout: 'split', actions: ['containers'] },
    { signal: `imagefs.${resource}`, layout: 'single', actions: BOTH },
    { signal: `imagefs.${resource}`, layout: 'dedicated', actions: BOTH },
    { signal: `imagefs.${resource}`, layout: 'split', actions: ['images'] },
    { signal: `containerfs.${resource}`, layout: 'single', actions: BOTH },
    { signal: `containerfs.${resource}`, layout: 'dedicated', actions: BOTH },
    { signal: `containerfs.${resource}`, layout: 'split', actions: ['containers'] },
  ]);

  test.each(rows)('$signal, $layout: $actions', ({ signal, layout, actions, profile }) => {
    const [filesystem] = signal.split('.');
    const stats = disks(LAYOUTS[layout], { [filesystem ?? '']: FULL });
    for (const one of profile ? [profile] : (['kubelet', 'fleetgc'] as const)) {
      const { begin } = decide(stats, evictionPolicy(watching(signal, layout), { profile: one }));
      expect(begin?.actions ?? []).toEqual(actions);
      expect(begin?.step).toBe(actions[0]);
    }
  });

  /** A threshold that becomes one of the signal: those of containerfs are copies (J6). */
  function watching(signal: EvictionSignal, layout: keyof typeof LAYOUTS) {
    const like = layout === 'dedicated' ? 'imagefs' : 'nodefs';
    const [, resource] = signal.split('.');
    const source = signal.startsWith('containerfs') ? `${like}.${resource}` : signal;
    return ALL.filter((one) => one.signal === source);
  }

  test('[J17] a signal that nothing can be done for says so', () => {
    const policy = evictionPolicy([threshold('nodefs.available')], { profile: 'kubelet' });
    const { outcome, reason } = decide(disks(DEDICATED, { nodefs: FULL }), policy);
    expect({ outcome, reason }).toEqual({
      outcome: 'nothing-to-do',
      reason: expect.stringContaining(
        'nodefs.available is at 0% free, threshold 10%, and garbage collection',
      ),
    });
  });

  test('[M25] nodefs apart from the images: dead containers go with their logs, unlike in profile kubelet', () => {
    const stats = disks(DEDICATED, { nodefs: FULL });
    const begun = (profile: Policy['profile']) =>
      decide(stats, evictionPolicy([threshold('nodefs.available')], { profile })).begin;
    expect(begun('fleetgc')?.actions).toEqual(['containers']);
    expect(begun('kubelet')).toBeNull();
  });
});

describe('[J6] thresholds of containerfs', () => {
  const soft = { kind: 'soft', gracePeriodMs: 60_000 } as const;
  const given = [
    threshold('nodefs.available', { value: { percent: 20 }, minimumReclaim: { quantity: '7' } }),
    threshold('imagefs.available', { value: { percent: 30 }, minimumReclaim: { quantity: '9' } }),
    threshold('containerfs.available', { value: { percent: 99 } }),
    threshold('imagefs.inodesFree', soft),
  ];

  test.each([
    { layout: DEDICATED, name: 'imagefs, on whose device they lie', free: '299', atLeast: '309' },
    { layout: SPLIT, name: 'nodefs', free: '199', atLeast: '207' },
  ])('are those of $name, whatever was written for them', ({ layout, free, atLeast }) => {
    const at = (availableBytes: string) =>
      decide(disks(layout, { containerfs: { availableBytes } }), evictionPolicy(given)).begin;
    expect(at(free)).toMatchObject({ cause: { signal: 'containerfs.available' }, target: { atLeast } });
    expect(at(String(BigInt(free) + 1n))).toBeNull();
  });

  test('are copied with their grace', () => {
    const free = { containerfs: { inodesFree: '1' } };
    expect(decide(disks(DEDICATED, free), evictionPolicy(given)).begin).toBeNull();
  });
});
