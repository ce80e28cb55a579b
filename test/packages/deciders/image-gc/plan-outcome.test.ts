import { describe, expect, test } from 'vitest';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { container, image } from '../../../fixtures/inventory.ts';
import { keepList } from '../../../fixtures/policy.ts';
import { NOW } from '../../../fixtures/time.ts';
import { decided } from './support/decided.ts';

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
    expect(verdicts.map(({ position }) => position)).toEqual([...Array(22).keys()]);
  });
});
