import { expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pressure/decide.ts';
import { type Assumed, assumedMet } from '../../../../packages/deciders/pressure/rules/eviction.ts';
import { policy } from '../../../fixtures/policy.ts';
import { DEDICATED, disks, evictionPolicy, SINGLE, SPLIT, threshold } from './node-disks.ts';

const told = (assumed: Assumed) =>
  assumed.kind === 'met'
    ? { actions: assumed.actions, target: `${assumed.target.filesystem} ${assumed.target.atLeast}` }
    : assumed.kind === 'nothing'
      ? assumed.rule
      : assumed.doubt.rule;

const FULL = evictionPolicy([threshold('nodefs.available'), threshold('imagefs.available')]);
const KUBELET = { ...FULL, profile: 'kubelet' } as const;
const BOTH = ['containers', 'images'];

test.each([
  { layout: SINGLE, signal: 'nodefs.available', is: { actions: BOTH, target: 'nodefs 100' } },
  { layout: SINGLE, signal: 'containerfs.available', is: { actions: BOTH, target: 'containerfs 100' } },
  { layout: DEDICATED, signal: 'nodefs.available', kubelet: true, is: 'J17' },
  {
    layout: DEDICATED,
    signal: 'nodefs.available',
    is: { actions: ['containers'], target: 'nodefs 100' },
  },
  { layout: DEDICATED, signal: 'imagefs.available', is: { actions: BOTH, target: 'imagefs 100' } },
  { layout: SPLIT, signal: 'imagefs.available', is: { actions: ['images'], target: 'imagefs 100' } },
  {
    layout: SPLIT,
    signal: 'containerfs.available',
    is: { actions: ['containers'], target: 'containerfs 100' },
  },
  { layout: SINGLE, signal: 'nodefs.inodesFree', is: 'J9' },
  { layout: { imagefs: { availableBytes: '2000' } }, signal: 'imagefs.available', is: 'M37' },
] as const)('[J5, J6] $signal is met, whatever the disk says: $is', ({ layout, signal, is, ...more }) => {
  expect(told(assumedMet(signal, disks(layout), 'kubelet' in more ? KUBELET : FULL))).toEqual(is);
});

test('[M16] where forced garbage collection is off, a signal orders nothing', () => {
  expect(told(assumedMet('imagefs.available', disks(SINGLE), { ...FULL, forcedGC: false }))).toBe('M16');
});

test('[J3] a layout that cannot be read orders nothing', () => {
  const reading = { ...disks(SINGLE), filesystems: { nodefs: null, imagefs: null, containerfs: null } };
  expect(assumedMet('imagefs.available', reading, FULL)).toMatchObject({
    kind: 'doubt',
    doubt: { rule: 'J3' },
  });
});

test('[J8] inodes that a filesystem does not count order nothing', () => {
  const layout = { nodefs: { inodes: '0', inodesFree: '0' } };
  const thresholds = evictionPolicy([threshold('nodefs.inodesFree')]);
  expect(told(assumedMet('nodefs.inodesFree', disks(layout), thresholds))).toBe('J8');
});

test('[J10, J13] of a hard and a soft threshold the stricter target, with its minimum reclaim', () => {
  const both = evictionPolicy([
    threshold('imagefs.available'),
    threshold('imagefs.available', {
      kind: 'soft',
      value: { percent: 20 },
      gracePeriodMs: 60_000,
      minimumReclaim: { quantity: '50' },
    }),
  ]);
  expect(told(assumedMet('imagefs.available', disks(SINGLE), both))).toEqual({
    actions: BOTH,
    target: 'imagefs 250',
  });
});

test('what it orders is what a threshold that is met begins', () => {
  const full = disks(DEDICATED, { imagefs: { availableBytes: '40' } });
  const { begin } = decide(full, evictionPolicy([threshold('imagefs.available')]));
  expect(assumedMet('imagefs.available', full, policy({ ...FULL }))).toMatchObject({ ...begin });
});

test('[J17] where nothing can be done, each threshold says so', () => {
  const soft = threshold('nodefs.available', { kind: 'soft', value: { percent: 20 } });
  const twice = { ...KUBELET, evictionThresholds: [threshold('nodefs.available'), soft] };
  const nothing = (percent: number) =>
    `nodefs.available is at 90% free, threshold ${percent}%, and garbage collection frees none of it (J17)`;
  expect(assumedMet('nodefs.available', disks(DEDICATED), twice)).toEqual({
    kind: 'nothing',
    rule: 'J17',
    reason: `${nothing(10)}; ${nothing(20)}`,
  });
});
