import { describe, expect, test } from 'vitest';
import type { CompleteInventory, InventoryImage } from '../../schemas/inventory.ts';
import type { Policy } from '../../schemas/policy.ts';
import { decide } from '../../services/image-gc/decide.ts';
import { filesystem, filesystems } from '../fixtures/filesystems.ts';
import {
  container,
  image,
  incompleteInventory,
  inventory,
  sandbox,
  tooLargeInventory,
} from '../fixtures/inventory.ts';
import { keepList, policy } from '../fixtures/policy.ts';
import { reclaim } from '../fixtures/reclaim.ts';
import { HOUR, MINUTE, NOW } from '../fixtures/time.ts';

/** Enough images that half of them is no limit, used so lately that they come last. */
const OTHERS = Array.from({ length: 20 }, (_, index) =>
  image(`other-${index}`, { lastUsedMs: NOW - MINUTE, usedBy: [{ kind: 'container', id: 'running' }] }),
);

const decided = (
  images: readonly InventoryImage[],
  overrides: Partial<CompleteInventory> = {},
  settings: Partial<Policy> = {},
) =>
  decide(inventory({ images: [...images, ...OTHERS], reclaim: reclaim(), ...overrides }), policy(settings));

const removed = (...args: Parameters<typeof decided>): string[] => decided(...args).items.map(({ id }) => id);

/** The verdict about the first image. */
const verdict = (...args: Parameters<typeof decided>) => decided(...args).verdicts.images[0];

describe('the order of removal', () => {
  const ago = (hours: number) => NOW - hours * HOUR;
  const big = { sizeBytes: 40 };

  test.each<{ name: string; images: InventoryImage[]; order: string[] }>([
    {
      name: '[D8] least recently used first',
      images: [
        image('1', { lastUsedMs: ago(1) }),
        image('3', { lastUsedMs: ago(3) }),
        image('2', { lastUsedMs: ago(2) }),
      ],
      order: ['3', '2', '1'],
    },
    {
      name: '[D8] never used before used, even before one used at the epoch',
      images: [image('used', { lastUsedMs: 0 }), image('never', { lastUsedMs: null })],
      order: ['never', 'used'],
    },
    {
      name: '[D8] among those last used together, the first detected first, however small',
      images: [
        image('later', { ...big, firstDetectedMs: ago(6) }),
        image('first', { sizeBytes: 1, firstDetectedMs: ago(7) }),
      ],
      order: ['first', 'later'],
    },
    {
      name: '[D8] among those detected together, the larger first',
      images: [image('a', { sizeBytes: 10 }), image('b', { sizeBytes: 11 })],
      order: ['b', 'a'],
    },
    {
      name: '[D8] among equals, by id, not by listing order',
      images: [image('c'), image('a'), image('B'), image('b')],
      order: ['B', 'a', 'b', 'c'],
    },
  ])('$name', ({ images, order }) => {
    expect(removed(images)).toEqual(order);
  });
});

describe('the end of the plan', () => {
  const sizes = (...bytes: number[]) =>
    bytes.map((sizeBytes, index) => image(`${index}`, { sizeBytes, lastUsedMs: index }));

  test.each<{ name: string; bytes: number[]; goes: number }>([
    { name: '[D12] with the image that reaches the target exactly', bytes: [60, 40, 10], goes: 2 },
    { name: '[D12] not with an image that leaves one byte missing', bytes: [60, 39, 10, 10], goes: 3 },
    { name: '[D12] with a first image that is larger than all that is missing', bytes: [500, 10], goes: 1 },
    { name: '[D12, D13] images without size do not reach it', bytes: [0, 0, 100, 1], goes: 3 },
    {
      name: '[D14, D17] with the last candidate when all sizes together are too little',
      bytes: [9, 9],
      goes: 2,
    },
  ])('$name', ({ bytes, goes }) => {
    expect(removed(sizes(...bytes))).toEqual(bytes.slice(0, goes).map((_, index) => `${index}`));
  });

  test('[D12] the rest is kept by D12, and named as waiting', () => {
    const { verdicts, holders, estimatedBytes } = decided(sizes(100, 10, 5));
    expect(verdicts.images.slice(0, 3).map(({ action, rule }) => [action, rule])).toEqual([
      ['remove', 'D11'],
      ['keep', 'D12'],
      ['keep', 'D12'],
    ]);
    expect(holders).toContainEqual({ reason: 'waiting', objects: 2, bytes: 15 });
    expect(estimatedBytes).toBe(100);
  });

  test('[P4] at most 50 images, however much is missing', () => {
    const many = Array.from({ length: 200 }, (_, index) => image(`image-${index}`, { sizeBytes: 1 }));
    const { items, verdicts } = decided(many);
    expect(items).toHaveLength(50);
    const waiting = (kept: string) => verdicts.images.filter(({ rule }) => rule === kept);
    expect([waiting('P4').length, waiting('D12').length]).toEqual([50, 100]);
  });

  test.each([
    { listed: 1, goes: 1 },
    { listed: 2, goes: 1 },
    { listed: 3, goes: 1 },
    { listed: 4, goes: 2 },
    { listed: 99, goes: 49 },
    { listed: 100, goes: 50 },
    { listed: 101, goes: 50 },
  ])('[P5] of $listed listed images at most half, but one at least: $goes', ({ listed, goes }) => {
    const images = Array.from({ length: listed }, (_, index) => image(`image-${index}`, { sizeBytes: 1 }));
    expect(decided([], { images }).items).toHaveLength(goes);
  });

  test('[D13] nothing goes when the inventory shows the target reached', () => {
    const at = (availableBytes: string) =>
      decided([image('a')], { filesystems: filesystems({ availableBytes }) });
    expect(at('200')).toMatchObject({ outcome: 'nothing-to-do', items: [], unrelievedAt: null });
    expect(at('199')).toMatchObject({ outcome: 'commanded', items: [{ id: 'a' }] });
  });

  test('[D6, D12] bytes are counted exactly beyond 2^53', () => {
    const huge = { capacityBytes: '18446744073709551615', availableBytes: '9007199254740993' };
    const wanted = reclaim({ target: { ...reclaim().target, atLeast: '9007199254740994' } });
    expect(removed(sizes(1, 1), { filesystems: filesystems(huge), reclaim: wanted })).toEqual(['0']);
  });
});

describe('an image is kept', () => {
  const old = NOW - 10 * HOUR;

  test.each<{ name: string; kept: Partial<InventoryImage>; rule: string; settings?: Partial<Policy> }>([
    {
      name: '[C8, K2] in use by a container',
      kept: { usedBy: [{ kind: 'container', id: 'c' }] },
      rule: 'C8',
    },
    {
      name: '[C10, M5] wanted by a pod that is starting',
      kept: { usedBy: [{ kind: 'pod', id: 'p' }] },
      rule: 'M5',
    },
    { name: '[M9] as the image of a sandbox', kept: { usedBy: [{ kind: 'sandbox', id: 's' }] }, rule: 'M9' },
    {
      name: '[M9] as the configured sandbox image',
      kept: { usedBy: [{ kind: 'sandbox-image', id: 'registry.example/pause:3' }] },
      rule: 'M9',
    },
    { name: '[D7, M10, K2] pinned by the runtime', kept: { pinned: true }, rule: 'D7' },
    {
      name: '[M11] on the keep list by name',
      kept: {},
      rule: 'M11',
      settings: { keep: keepList({ patterns: ['registry.example/*'] }) },
    },
    {
      name: '[M11] on the keep list by digest',
      kept: {},
      rule: 'M11',
      settings: { keep: keepList({ digests: [`sha256:${'a'.repeat(64)}`] }) },
    },
    {
      name: '[M11] on the keep list by label',
      kept: { labels: { keep: 'yes' } },
      rule: 'M11',
      settings: { keep: keepList({ labels: { keep: 'yes' } }) },
    },
    { name: '[M11] without a digest to pull it again by', kept: { repoDigests: [] }, rule: 'M11' },
    { name: '[D9] last used at the time of the inventory', kept: { lastUsedMs: NOW }, rule: 'D9' },
    { name: '[D9] last used after the time of the inventory', kept: { lastUsedMs: NOW + 1 }, rule: 'D9' },
    {
      name: '[D10] one millisecond younger than the minimum age',
      kept: { firstDetectedMs: NOW - 2 * MINUTE + 1 },
      rule: 'D10',
    },
    {
      name: '[M2] first detected in the future, even without a minimum age',
      kept: { firstDetectedMs: NOW + 1 },
      rule: 'M2',
      settings: { imageMinimumGCAgeMs: -HOUR },
    },
    {
      name: '[M17, M33] in back-off',
      kept: { backoff: { failures: 2, untilMs: NOW + 1 } },
      rule: 'M33',
    },
    {
      name: '[M33] in the longest back-off',
      kept: { backoff: { failures: 9, untilMs: NOW + HOUR } },
      rule: 'M33',
    },
    {
      name: '[C8] in use, even when it is old, unpinned and never seen in use by a detection',
      kept: { usedBy: [{ kind: 'container', id: 'c' }], lastUsedMs: null, firstDetectedMs: old },
      rule: 'C8',
    },
  ])('$name', ({ kept, rule, settings = {} }) => {
    const images = [image('a', kept)];
    expect(verdict(images, {}, settings)).toMatchObject({ action: 'keep', rule });
    expect(removed(images, {}, settings)).toEqual([]);
  });

  test.each<{ name: string; goes: Partial<InventoryImage>; settings?: Partial<Policy> }>([
    { name: '[D9] last used just before the inventory', goes: { lastUsedMs: NOW - 1 } },
    { name: '[D10] exactly of the minimum age', goes: { firstDetectedMs: NOW - 2 * MINUTE } },
    {
      name: '[B11, D10] just detected, when there is no minimum age',
      goes: { firstDetectedMs: NOW },
      settings: { imageMinimumGCAgeMs: -1 },
    },
    { name: '[M33] back-off over', goes: { backoff: { failures: 3, untilMs: NOW } } },
    {
      name: '[M33] a back-off longer than any, from before the clock was set back',
      goes: { backoff: { failures: 3, untilMs: NOW + HOUR + 1 } },
    },
    {
      name: '[M11] of another name and label than the keep list',
      goes: { labels: { keep: 'no' } },
      settings: { keep: keepList({ patterns: ['other.example/**'], labels: { keep: 'yes' } }) },
    },
  ])('not so: $name', ({ goes, settings = {} }) => {
    expect(removed([image('a', goes)], {}, settings)).toEqual(['a']);
  });

  test('[M41, M12] used only by a container that is not ours: kept, and named so', () => {
    const foreign = container('foreign', { pod: null });
    const images = [image('a', { usedBy: [{ kind: 'container', id: 'foreign' }] })];
    expect(verdict(images, { containers: [foreign] })).toMatchObject({ action: 'keep', rule: 'M41' });
    expect(decided(images, { containers: [foreign] }).holders).toContainEqual({
      reason: 'not-ours',
      objects: 1,
      bytes: 10,
    });
  });

  test('[M41, C8] used by a container of ours as well: in use', () => {
    const foreign = [container('foreign', { pod: null })];
    const sandboxes = [sandbox('foreign-sandbox', { pod: null })];
    const images = [
      image('a', {
        usedBy: [
          { kind: 'container', id: 'foreign' },
          { kind: 'sandbox', id: 'foreign-sandbox' },
          { kind: 'container', id: 'ours' },
        ],
      }),
    ];
    expect(verdict(images, { containers: foreign, sandboxes })).toMatchObject({
      rule: 'C8',
      facts: { users: 3, user: 'container ours' },
    });
  });

  test('[C5] listed twice: every entry of it, and the record says so', () => {
    const { items, verdicts, notBelieved } = decided([
      image('a'),
      image('a', { lastUsedMs: null }),
      image('b'),
    ]);
    expect(items.map(({ id }) => id)).toEqual(['b']);
    expect(verdicts.images.slice(0, 2).map(({ rule }) => rule)).toEqual(['C5', 'C5']);
    expect(notBelieved).toEqual([
      { rule: 'C5', message: '1 image id(s) are listed more than once and kept; first by name: a' },
    ]);
  });

  test('[M2, D9] times in the future are told', () => {
    const { notBelieved } = decided([
      image('b', { lastUsedMs: NOW + HOUR }),
      image('a', { firstDetectedMs: NOW + HOUR }),
    ]);
    expect(notBelieved.map(({ rule }) => rule)).toEqual(['M2', 'D9']);
  });
});

describe('a policy that changed since the reclaim was ordered', () => {
  const three = ['a', 'b', 'c'].map((id) => image(id, { sizeBytes: 40 }));
  const evictionSignal = { ...reclaim().cause, signal: 'imagefs.available', reading: '100Mi' };
  const of = (atLeast: bigint | number) => ({ ...reclaim().target, atLeast: String(atLeast) });

  test.each<{ name: string; low: number; goes: string[]; atLeast: string }>([
    { name: '[D6] asks for as much: as ordered', low: 80, goes: ['a', 'b', 'c'], atLeast: '200' },
    { name: '[D6] asks for less: the plan ends earlier', low: 82, goes: ['a', 'b'], atLeast: '180' },
    {
      name: '[D6] asks for more: the order is not made larger',
      low: 50,
      goes: ['a', 'b', 'c'],
      atLeast: '200',
    },
  ])('$name', ({ low, goes, atLeast }) => {
    const settings = { imageGCLowThresholdPercent: low };
    expect(removed(three, {}, settings)).toEqual(goes);
    expect(decided(three, {}, settings).reclaim).toEqual(reclaim({ target: of(BigInt(atLeast)) }));
  });

  test('[D6] the record says which target was used, and why', () => {
    const settings = { imageGCLowThresholdPercent: 82 };
    const why = 'policy default now asks for 180 bytes, less than the 200 that were ordered';
    expect(decided(three, {}, settings).reason).toBe(
      `${why}; 80 bytes are missing to the target; 2 image(s) go, listed with 80 bytes`,
    );
    expect(decided(three, {}, { imageGCLowThresholdPercent: 84 }).reason).toMatch(
      /asks for 160 bytes.*60 bytes/,
    );
    const relieved = decided(three, { filesystems: filesystems({ availableBytes: '180' }) }, settings);
    expect(relieved).toMatchObject({
      outcome: 'nothing-to-do',
      reason: `${why}; the target is reached: 180 bytes are available`,
    });
  });

  test.each<{ name: string; settings: Partial<Policy>; rule: string; reason: RegExp }>([
    {
      name: '[D1] switches image GC by usage off',
      settings: { imageGCHighThresholdPercent: 100 },
      rule: 'D1',
      reason: /now switches image GC by usage off/,
    },
    {
      name: '[D6] would not have begun it',
      settings: { imageGCHighThresholdPercent: 91 },
      rule: 'D6',
      reason: /was used to 90% .* below the 91% of policy default now/,
    },
  ])('$name: no image goes, and the reclaim ends', ({ settings, rule, reason }) => {
    expect(decided(three, {}, settings)).toMatchObject({
      outcome: 'nothing-to-do',
      reason: expect.stringMatching(reason),
      items: [],
      unrelievedAt: null,
    });
    expect(verdict(three, {}, settings)).toMatchObject({ action: 'keep', rule });
  });

  test('[D6] would just have begun it: it goes on, below the high threshold too', () => {
    const settings = { imageGCHighThresholdPercent: 90 };
    expect(removed(three, { reclaim: reclaim({ round: 2 }) }, settings)).toEqual(['a', 'b', 'c']);
    const between = { filesystems: filesystems({ availableBytes: '160' }) };
    expect(removed(three, between, settings)).toEqual(['a']);
  });

  test('[D6] a beginning that is not known keeps everything', () => {
    const strange = reclaim({ cause: { ...reclaim().cause, reading: 'full' } });
    expect(decided(three, { reclaim: strange })).toMatchObject({ outcome: 'nothing-to-do', items: [] });
  });

  test.each([
    { name: 'a higher low threshold', settings: { imageGCLowThresholdPercent: 84 } },
    { name: 'image GC by usage switched off', settings: { imageGCHighThresholdPercent: 100 } },
  ])('[D6] what an eviction signal ordered is not held against percentages: $name', ({ settings }) => {
    const wanted = reclaim({ cause: evictionSignal });
    expect(removed(three, { reclaim: wanted }, settings)).toEqual(['a', 'b', 'c']);
    expect(decided(three, { reclaim: wanted }, settings).reclaim).toEqual(wanted);
  });
});

test('[M17, M18] an image in back-off costs no other its place', () => {
  const failing = image('failing', {
    sizeBytes: 100,
    lastUsedMs: null,
    backoff: { failures: 9, untilMs: NOW + 1 },
  });
  expect(removed([failing, image('a', { sizeBytes: 60 }), image('b', { sizeBytes: 60 })])).toEqual([
    'a',
    'b',
  ]);
});

describe('no image goes', () => {
  test.each<{ name: string; facts: Partial<CompleteInventory>; rule: string }>([
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
        reclaim: reclaim({ target: { ...reclaim().target, filesystem: 'nodefs' } }),
      },
      rule: 'A2',
    },
  ])('$name', ({ facts, rule }) => {
    const { outcome, items, notBelieved, verdicts } = decided([image('a')], facts);
    expect({ outcome, items }).toEqual({ outcome: 'not-believed', items: [] });
    expect(notBelieved.map((doubt) => doubt.rule)).toEqual([rule]);
    expect(verdicts.images[0]).toMatchObject({ action: 'keep', rule });
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
    expect(verdicts.images.slice(0, 2).map(({ rule }) => rule)).toEqual(['P6', 'D7']);
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

describe('pressure that stays', () => {
  const EVERY_HOLDER: readonly InventoryImage[] = [
    image('used', { usedBy: [{ kind: 'container', id: 'c' }], sizeBytes: 1 }),
    image('pinned', { pinned: true, sizeBytes: 2 }),
    image('young', { firstDetectedMs: NOW, sizeBytes: 4 }),
    image('listed', { labels: { keep: 'yes' }, sizeBytes: 8 }),
    image('local', { repoDigests: [], sizeBytes: 16 }),
    image('foreign', { usedBy: [{ kind: 'container', id: 'foreign' }], sizeBytes: 32 }),
    image('failing', { backoff: { failures: 1, untilMs: NOW + 1 }, sizeBytes: 64 }),
    image('future', { firstDetectedMs: NOW + 1, sizeBytes: 128 }),
  ];
  const keep = keepList({ labels: { keep: 'yes' } });
  const containers = [container('foreign', { pod: null })];

  test('[M8, D17] is told with everything that holds the space', () => {
    const given = { images: [...EVERY_HOLDER], containers };
    const { outcome, holders, unrelievedAt, reason } = decided([], given, { keep });
    expect({ outcome, unrelievedAt }).toEqual({ outcome: 'unrelieved', unrelievedAt: '100' });
    expect(holders).toEqual([
      { reason: 'in-use', objects: 1, bytes: 1 },
      { reason: 'pinned', objects: 1, bytes: 2 },
      { reason: 'too-young', objects: 1, bytes: 4 },
      { reason: 'kept-by-list', objects: 1, bytes: 8 },
      { reason: 'no-digest', objects: 1, bytes: 16 },
      { reason: 'not-ours', objects: 1, bytes: 32 },
      { reason: 'backing-off', objects: 1, bytes: 64 },
      { reason: 'not-believed', objects: 1, bytes: 128 },
      { reason: 'not-images', objects: 0, bytes: 900 - 255 },
    ]);
    expect(reason).toContain('100 bytes are missing to the target, and no image may go: 1 in-use (1 bytes)');
    expect(reason).toContain('645 bytes are not images');
  });

  test('[M7, M8] shared layers can make images count for more than is used; then nothing is left over', () => {
    const { holders } = decided([], { images: [image('used', { pinned: true, sizeBytes: 5_000 })] });
    expect(holders).toEqual([{ reason: 'pinned', objects: 1, bytes: 5_000 }]);
  });

  test('[M8, M9] is told too when a doubt keeps everything', () => {
    const { outcome, holders, unrelievedAt } = decided([], {
      images: [image('a')],
      sandboxImageKnown: false,
    });
    expect({ outcome, unrelievedAt }).toEqual({ outcome: 'not-believed', unrelievedAt: '100' });
    expect(holders).toEqual([
      { reason: 'not-believed', objects: 1, bytes: 10 },
      { reason: 'not-images', objects: 0, bytes: 890 },
    ]);
  });

  test('[M8] is not told when the target is reached, or the reading says nothing', () => {
    const doubtful = { sandboxImageKnown: false };
    const reached = decided([], { ...doubtful, filesystems: filesystems({ availableBytes: '200' }) });
    const unread = decided([], { ...doubtful, filesystems: filesystems({ availableBytes: null }) });
    expect([reached.unrelievedAt, unread.unrelievedAt]).toEqual([null, null]);
  });
});

describe('a plan that holds something', () => {
  test('is not sent in dry-run, and is the same plan', () => {
    const dryRun = decided([image('a')], {}, { mode: 'dry-run' });
    const { outcome, reason, ...plan } = decided([image('a')]);
    expect(outcome).toBe('commanded');
    expect(dryRun).toMatchObject({ ...plan, outcome: 'dry-run' });
    expect(dryRun.reason).toContain(reason);
  });

  test.each([{ versions: [] }, { versions: [2, 3] }])(
    'is not sent to a node that accepts $versions',
    ({ versions }) => {
      const { outcome, reason } = decided([image('a')], { commandVersions: versions });
      expect(outcome).toBe('no-common-version');
      expect(reason).toContain(versions.join(', ') || 'none');
    },
  );

  test('[M38] every image has one verdict, at its position', () => {
    const { verdicts } = decided([image('a'), image('b', { pinned: true })]);
    expect(verdicts.images.map(({ position }) => position)).toEqual([...Array(22).keys()]);
  });
});
