import { describe, expect, test } from 'vitest';
import { type ImageGcMode, planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE, NOW } from '../../../fixtures/time.ts';

const ago = (ms: number) => NOW - ms;
const images = ['a', 'b', 'c'].map((id, index) =>
  image(id, { sizeBytes: 60, lastUsedMs: ago((9 - index) * HOUR) }),
);

interface Given {
  readonly mode: ImageGcMode;
  readonly settings?: Partial<Policy>;
  readonly facts?: Partial<CompleteInventory>;
  readonly listed?: readonly InventoryImage[];
}
const plan = ({ mode, settings, facts, listed = images }: Given) =>
  planImages(inventory({ images: [...listed], ...facts }), policy(settings), mode);
const removed = (given: Given) => plan(given).removals.map(({ image: { id }, rule }) => `${id} ${rule}`);
const inBoth = (given: Given) => ({
  fleetgc: removed(given),
  kubelet: removed({ ...given, settings: { ...given.settings, profile: 'kubelet' } }),
});
const same = (expected: string[]) => ({ fleetgc: expected, kubelet: expected });

describe('a plan without a reclaim', () => {
  test('[P4, P5] is whole: what a command may hold does not end it', () => {
    const many = Array.from({ length: 120 }, (_, index) => image(`image-${index}`));
    const settings = { profile: 'kubelet' } as const;
    expect(removed({ mode: 'forced', settings, listed: many })).toHaveLength(120);
  });

  test.each([
    { availableBytes: '160', goes: [] },
    { availableBytes: '159', goes: ['a D11'] },
    { availableBytes: '100', goes: ['a D11', 'b D11'] },
    { availableBytes: '79', goes: ['a D11', 'b D11', 'c D11'] },
  ])('[D6, D12] by usage, with $availableBytes of 1000 bytes available', ({ availableBytes, goes }) => {
    expect(inBoth({ mode: 'usage', facts: { filesystems: filesystems({ availableBytes }) } })).toEqual(
      same(goes),
    );
  });

  test('[D6] a high threshold of 0 is always met', () => {
    const settings = { imageGCHighThresholdPercent: 0, imageGCLowThresholdPercent: 0 };
    const facts = { filesystems: filesystems({ availableBytes: '1000' }) };
    expect(removed({ mode: 'usage', settings: { ...settings, profile: 'kubelet' }, facts })).toEqual([
      'a D11',
    ]);
  });

  test('[D6] is exact for disks beyond 2^53 bytes', () => {
    const facts = (availableBytes: string) => ({
      filesystems: filesystems({ capacityBytes: '100000000000000000', availableBytes }),
    });
    expect(removed({ mode: 'usage', facts: facts('16000000000000000') })).toEqual([]);
    expect(removed({ mode: 'usage', facts: facts('15999999999999999') })).not.toEqual([]);
  });

  test('[D4, D5, M37] nothing goes by usage on a reading that cannot be', () => {
    for (const reading of [{ capacityBytes: '0' }, { availableBytes: '1001' }, { availableBytes: null }])
      expect(inBoth({ mode: 'usage', facts: { filesystems: filesystems(reading) } })).toEqual(same([]));
  });

  test('[M39] by usage, when less is available than the policy says', () => {
    const settings = { imageGCAvailable: { startBelowBytes: '500', untilBytes: '550' } };
    const at = (availableBytes: string) => ({ filesystems: filesystems({ availableBytes }) });
    expect(removed({ mode: 'usage', settings, facts: at('499') })).toEqual(['a D11']);
    expect(removed({ mode: 'usage', settings, facts: at('500') })).toEqual([]);
    expect(removed({ mode: 'usage', settings, facts: at('100') })).toHaveLength(3);
    const beyond = { imageGCAvailable: { startBelowBytes: '1000', untilBytes: '1001' } };
    expect(removed({ mode: 'usage', settings: beyond, facts: at('500') })).toEqual([]);
  });

  test('[M13] by usage of inodes, when the policy asks; then measuring ends it', () => {
    const imageGCInodes = { highThresholdPercent: 85, lowThresholdPercent: 80 };
    const at = (inodesFree: string) => ({
      filesystems: filesystems({ availableBytes: '900', inodesFree }),
    });
    expect(removed({ mode: 'usage', settings: { imageGCInodes }, facts: at('159') })).toHaveLength(3);
    expect(removed({ mode: 'usage', settings: { imageGCInodes }, facts: at('160') })).toEqual([]);
    expect(inBoth({ mode: 'usage', facts: at('0') })).toEqual(same([]));
    const off = { highThresholdPercent: 100, lowThresholdPercent: 80 };
    expect(removed({ mode: 'usage', settings: { imageGCInodes: off }, facts: at('0') })).toEqual([]);
  });

  test('[F1, J22, M14] forced: the kubelet takes everything, fleetgc what reaches the low threshold', () => {
    expect(inBoth({ mode: 'forced' })).toEqual({
      fleetgc: ['a D11', 'b D11'],
      kubelet: ['a D11', 'b D11', 'c D11'],
    });
  });

  test('[F3] forced, the kubelet needs no reading of the disk', () => {
    const facts = { filesystems: filesystems({ capacityBytes: null }) };
    expect(inBoth({ mode: 'forced', facts })).toEqual({
      fleetgc: [],
      kubelet: ['a D11', 'b D11', 'c D11'],
    });
  });
});

describe('[D3] a whole pass', () => {
  const settings = { imageMaximumGCAgeMs: 8 * HOUR };

  test('[E7] goes by age first, then by usage of what is left; bytes freed by age do not count', () => {
    const facts = { filesystems: filesystems({ availableBytes: '150' }) };
    expect(inBoth({ mode: 'periodic', settings, facts })).toEqual(same(['a E3', 'b D11']));
  });

  test('goes by age alone where no threshold is met, and by usage alone without a maximum age', () => {
    const empty = { filesystems: filesystems({ availableBytes: '900' }) };
    expect(inBoth({ mode: 'periodic', settings, facts: empty })).toEqual(same(['a E3']));
    expect(inBoth({ mode: 'periodic' })).toEqual(same(['a D11', 'b D11']));
  });

  test('[D1] removes nothing at a high threshold of 100 without a maximum age, on a full disk either', () => {
    const facts = { filesystems: filesystems({ availableBytes: '0' }) };
    expect(inBoth({ mode: 'periodic', settings: { imageGCHighThresholdPercent: 100 }, facts })).toEqual(
      same([]),
    );
  });

  test('[D2] with a maximum age, a high threshold of 100 is met by a full disk', () => {
    const hundred = { ...settings, imageGCHighThresholdPercent: 100 };
    const at = (availableBytes: string) => ({ filesystems: filesystems({ availableBytes }) });
    expect(removed({ mode: 'periodic', settings: hundred, facts: at('0') })).toHaveLength(3);
    expect(removed({ mode: 'periodic', settings: hundred, facts: at('10') })).toEqual(['a E3']);
  });

  test('[E4, D10] what age may take, usage may not: each image has one verdict', () => {
    const young = image('young', { lastUsedMs: null, firstDetectedMs: ago(MINUTE) });
    const given = {
      mode: 'periodic',
      settings: { ...settings, profile: 'kubelet' },
      listed: [young],
    } as const;
    const { removals, eligibility, spared } = plan(given);
    expect(removals.map(({ rule }) => rule)).toEqual(['E3']);
    expect([...eligibility.protected, ...eligibility.candidates, ...spared]).toEqual([]);
  });

  test('is not the answer to a reclaim', () => {
    const facts = { reclaim: reclaim({ step: 'containers' }) };
    expect(removed({ mode: 'periodic', facts })).toEqual(['a D11', 'b D11']);
  });
});

describe('after a restart of the agent', () => {
  const justStarted = { agentStartedAt: instant({ sinceBootMs: instant().sinceBootMs - MINUTE }) };
  const settings = { imageMaximumGCAgeMs: 8 * HOUR };

  test('[C13, C14, M1] images that were first detected by it enjoy a fresh minimum age', () => {
    const fresh = ['a', 'b'].map((id) => image(id, { firstDetectedMs: ago(MINUTE), lastUsedMs: null }));
    expect(inBoth({ mode: 'usage', listed: fresh, facts: justStarted })).toEqual(same([]));
  });

  test('[C15, M2] kept times keep their order; without them images of one detection go by size, then id', () => {
    expect(inBoth({ mode: 'usage', facts: justStarted })).toEqual(same(['a D11', 'b D11']));
    const forgotten = ['b', 'a', 'c'].map((id) =>
      image(id, { sizeBytes: id === 'c' ? 61 : 60, lastUsedMs: null, firstDetectedMs: ago(HOUR) }),
    );
    expect(inBoth({ mode: 'usage', listed: forgotten, facts: justStarted })).toEqual(
      same(['c D11', 'a D11']),
    );
  });

  test('[E2, M2] the kubelet waits for the whole maximum age, fleetgc remembers', () => {
    expect(inBoth({ mode: 'age', settings, facts: justStarted })).toEqual({ fleetgc: ['a E3'], kubelet: [] });
  });
});
