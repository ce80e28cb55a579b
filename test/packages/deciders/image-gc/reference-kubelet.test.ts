import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { type ImageGcMode, planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { runs } from '../../../support/property-runs.ts';
import { configured, type KubeletCase, kubeletCases, told } from './support/kubelet-cases.ts';
import { referenceForced, referencePass } from './support/reference-kubelet.ts';

const planned = (given: KubeletCase, mode: ImageGcMode): string[] =>
  planImages(told(given), configured(given), mode).removals.map(({ image: { id } }) => id);

const compare = (check: (given: KubeletCase) => void) =>
  fc.assert(fc.property(kubeletCases, check), runs(5_000));

test('[D3, D6, D7, D8, D9, D10, D11, D12, D13, E3, E7] a pass of the profile kubelet is that of the kubelet', () => {
  compare((given) => {
    const { age, usage } = referencePass(given.node, given.options);
    expect(planned(given, 'periodic')).toEqual([...age, ...usage]);
  });
});

test('[E1, E2, E3, E4, E5] so is its removal by age', () => {
  compare((given) => {
    expect(planned(given, 'age')).toEqual(referencePass(given.node, given.options).age);
  });
});

test('[F1, F2, F3, J22] and what it removes when forced', () => {
  compare((given) => {
    expect(planned(given, 'forced')).toEqual(referenceForced(given.node, given.options));
  });
});

test('[D6, D12, P5] a reclaim that such a disk begins goes the same way, as far as a command may', () => {
  let begun = 0;
  compare((given) => {
    const { capacity: bytes, available } = given.node;
    const { usage } = referencePass(given.node, { ...given.options, maxAge: 0 });
    if (usage.length === 0) return;
    begun += 1;
    const atLeast = String(Math.floor((bytes * (100 - given.options.low)) / 100));
    const reading = `${100 - Math.floor((available * 100) / bytes)}%`;
    const ordered = reclaim({
      cause: { ...reclaim().cause, reading },
      target: { ...reclaim().target, atLeast },
    });
    const inventoried = told(given);
    // No command holds what failed lately (M33).
    const images = inventoried.images.map((one) => ({ ...one, backoff: null }));
    const { items } = decide({ ...inventoried, images, reclaim: ordered }, configured(given));
    const most = Math.max(1, Math.floor(given.node.images.length / 2));
    expect(items.map(({ id }) => id)).toEqual(usage.slice(0, most));
  });
  expect(begun).toBeGreaterThanOrEqual(runs(1_000).numRuns);
});
