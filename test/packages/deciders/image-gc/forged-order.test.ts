import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { EvictionSignal } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { policy, threshold } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { runs } from '../../../support/property-runs.ts';

const NAMES = ['nodefs', 'imagefs', 'containerfs'] as const;
const RESOURCES = ['availableBytes', 'inodesFree'] as const;

/** Whatever somebody who may write orders writes. */
const forgedOrder: fc.Arbitrary<Reclaim> = fc
  .record({
    signal: fc.constantFrom(
      ...EvictionSignal.options,
      'imageGC',
      'imageGCAvailable',
      'imageGCInodes',
      'made-up',
    ),
    reading: fc.constantFrom('100%', '99%', '0', '0% free', ''),
    filesystem: fc.constantFrom(...NAMES),
    resource: fc.constantFrom(...RESOURCES),
    atLeast: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
    round: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ signal, reading, round, ...target }) =>
    reclaim({ cause: { ...reclaim().cause, signal, reading }, target, round }),
  );

const free = fc.integer({ min: 0, max: 1000 });
const layouts: fc.Arbitrary<FilesystemReadings> = fc
  .record({
    one: free,
    other: free,
    inodesFree: free,
    layout: fc.constantFrom('single', 'dedicated', 'split'),
  })
  .map(({ one, other, inodesFree, layout }) => {
    const shared = filesystems({ availableBytes: String(one), inodesFree: String(inodesFree) });
    if (layout === 'single') return shared;
    const elsewhere = filesystem({ device: '8:2', availableBytes: String(other) });
    return layout === 'dedicated'
      ? { ...shared, nodefs: elsewhere }
      : { ...shared, nodefs: elsewhere, containerfs: elsewhere };
  });

const percent = fc.integer({ min: 1, max: 60 });
const policies: fc.Arbitrary<Policy> = fc
  .record({
    profile: fc.constantFrom<Policy['profile']>('fleetgc', 'kubelet'),
    high: fc.integer({ min: 50, max: 100 }),
    low: fc.integer({ min: 30, max: 49 }),
    imageGCAvailable: fc.option(
      fc.record({ start: fc.nat({ max: 300 }), more: fc.nat({ max: 300 }) }).map(({ start, more }) => ({
        startBelowBytes: String(start),
        untilBytes: String(start + more),
      })),
    ),
    imageGCInodes: fc.option(fc.constant({ highThresholdPercent: 85, lowThresholdPercent: 80 })),
    signals: fc.uniqueArray(fc.constantFrom(...EvictionSignal.options)),
    percent,
    minimumReclaim: fc.option(fc.nat({ max: 200 }).map((quantity) => ({ quantity: String(quantity) }))),
    forcedGC: fc.boolean(),
  })
  .map(({ high, low, signals, percent: value, minimumReclaim, ...settings }) =>
    policy({
      ...settings,
      imageGCHighThresholdPercent: high,
      imageGCLowThresholdPercent: low,
      evictionThresholds: signals.map((signal) => ({ ...threshold(signal, value), minimumReclaim })),
    }),
  );

/** The most that any threshold of the policy may ever want of imagefs, by the words of the documentation: none is left out. */
function mostWanted(settings: Policy, resource: (typeof RESOURCES)[number]): number {
  const evictions = settings.forcedGC
    ? settings.evictionThresholds.map(({ value, minimumReclaim }) => {
        const share = 'percent' in value ? value.percent * 10 : 0;
        const more = minimumReclaim !== null && 'quantity' in minimumReclaim ? minimumReclaim.quantity : 0;
        return share + Number(more);
      })
    : [];
  const usage =
    resource === 'inodesFree'
      ? [settings.imageGCInodes === null ? 0 : 200]
      : [
          settings.imageGCHighThresholdPercent === 100 ? 0 : (100 - settings.imageGCLowThresholdPercent) * 10,
          Number(settings.imageGCAvailable?.untilBytes ?? 0),
        ];
  return Math.min(1000, Math.max(0, ...evictions, ...usage));
}

test('[D12, J10] no order makes more go than the policy wants of a disk that has what it has', () => {
  const images = Array.from({ length: 30 }, (_, index) => image(`i${index}`, { sizeBytes: 17 }));
  fc.assert(
    fc.property(forgedOrder, layouts, policies, (order, readings, settings) => {
      const { items } = decide(inventory({ images, filesystems: readings, reclaim: order }), settings);
      const imagefs = readings.imagefs;
      const available = Number(imagefs?.[order.target.resource]);
      const missing = mostWanted(settings, order.target.resource) - available;
      if (missing <= 0) expect(items).toEqual([]);
      if (settings.profile === 'kubelet' || order.target.resource === 'inodesFree') return;
      const untilLast = items.slice(0, -1).reduce((sum, { estimatedBytes }) => sum + estimatedBytes, 0);
      expect(untilLast).toBeLessThan(Math.max(1, missing));
    }),
    runs(5_000),
  );
});
