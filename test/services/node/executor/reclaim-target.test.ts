import { describe, expect, test } from 'vitest';
import { imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { reclaim, toTarget } from '../../../fixtures/reclaim.ts';
import { addImages, type ExecutorNode, executorNode } from './support/executor-node.ts';

describe('the target of a reclaim', () => {
  test('[M7, D12] as measured ends the work early', async () => {
    const node = executorNode();
    const [a = '', b = '', c = ''] = addImages(node, ['a', 'b', 'c'], 100n);
    const result = await node.start().carryOut(imageRemoval([a, b, c], { reclaim: toTarget('900') }));
    expect(node.runtime.gone).toEqual([a, b]);
    expect(node.outcomes()[c]).toMatchObject({ outcome: 'not-needed' });
    expect(result).toMatchObject({ removed: 2, notNeeded: 1, targetReached: true });
  });

  test.each([
    { when: 'before it is looked at', isMoment: (call: string) => call === 'listImages' },
    { when: 'as it is removed', isMoment: (call: string) => call.startsWith('removeImage') },
  ])(
    '[M7, M31] that somebody else reaches by removing an object $when ends the work, and the space is not ours',
    async ({ isMoment }) => {
      const node = executorNode();
      const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
      node.runtime.before = (call) => {
        if (isMoment(call)) node.runtime.images.delete(a);
      };
      const command = imageRemoval([a, b], { reclaim: toTarget('850') });
      expect(await node.start().carryOut(command)).toMatchObject({ removed: 0, targetReached: true });
      expect(node.runtime.gone).toEqual([]);
      expect(node.outcomes()).toMatchObject({
        [a]: { outcome: 'not-found' },
        [b]: { outcome: 'not-needed' },
      });
    },
  );

  test('[M8, M31] that somebody else reaches in the last round is no failure', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a'], 100n);
    node.runtime.before = (call) => {
      if (call.startsWith('removeImage')) node.runtime.images.delete(a);
    };
    const last = { ...toTarget('950'), round: 5 };
    const result = await node.start().carryOut(imageRemoval([a], { reclaim: last }));
    expect(result).toMatchObject({ targetReached: true, measured: { afterBytes: '1000' } });
    expect(node.published.map(({ type }) => type)).not.toContain('fleetgc.node.pressure-unrelieved');
    expect(node.published.map(({ type }) => type)).not.toContain('fleetgc.node.pass-failed');
  });

  test('[M7] estimates do not count: what frees less than it says does not end the work', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) node.runtime.otherBytes += 60n;
    };
    const many = { sizeBytes: 1_000_000, estimatedBytes: 1_000_000 };
    const items = [a, b].map((id) => ({ kind: 'image' as const, id, ...many, rule: 'D10' }));
    await node.start().carryOut(imageRemoval([], { items, reclaim: toTarget('850') }));
    expect(node.runtime.gone).toEqual([a, b]);
  });

  test('[D13, M7] that is reached before the first removal leaves everything', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a'], 100n);
    const result = await node.start().carryOut(imageRemoval([a], { reclaim: toTarget('900') }));
    expect(node.runtime.calls).toEqual([]);
    expect(result).toMatchObject({ notNeeded: 1, targetReached: true });
  });

  test('[M7] is waited for up to 2 s when space becomes free late', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    const freeAtMs = node.clock.now().sinceBootMs + 1_900;
    node.runtime.before = (call) => {
      if (call === 'statfs' && node.clock.now().sinceBootMs >= freeAtMs) node.runtime.leavingBytes = 0n;
    };
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) node.runtime.leavingBytes += 100n;
    };
    await node.start().carryOut(imageRemoval([a, b], { reclaim: toTarget('900') }));
    expect(node.runtime.gone).toEqual([a]);
  });

  test('[M7] is not waited for once as much is free as the images were counted with', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    const items = [a, b].map((id) => ({
      kind: 'image' as const,
      id,
      sizeBytes: 1_000_000,
      estimatedBytes: 100,
      rule: 'D11',
    }));
    await node.start().carryOut(imageRemoval([], { items, reclaim: toTarget('999') }));
    expect(node.runtime.gone).toEqual([a, b]);
    expect(node.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(500);
  });

  test('[M7] is not waited for longer than 2 s', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    const freeAtMs = node.clock.now().sinceBootMs + 2_300;
    node.runtime.before = (call) => {
      if (call === 'statfs' && node.clock.now().sinceBootMs >= freeAtMs) node.runtime.leavingBytes = 0n;
    };
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) node.runtime.leavingBytes += 100n;
    };
    await node.start().carryOut(imageRemoval([a, b], { reclaim: toTarget('900') }));
    expect(node.runtime.gone).toEqual([a, b]);
  });

  test('in inodes is judged by inodes', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.filesystemReadings = (available) => {
      const reading = {
        mountpoint: '/',
        device: '8:1',
        capacityBytes: '1000',
        availableBytes: String(available),
        inodes: '100',
        inodesFree: String(100 - 10 * node.runtime.images.size),
      };
      return { nodefs: reading, imagefs: reading, containerfs: reading };
    };
    const target = { filesystem: 'imagefs', resource: 'inodesFree', atLeast: '90' } as const;
    await node.start().carryOut(imageRemoval([a, b], { reclaim: reclaim({ target }) }));
    expect(node.runtime.gone).toEqual([a]);
  });

  /** Images whose inodes are free `lateMs` after they went, while their bytes are free at once. */
  function inodesFreedLate(node: ExecutorNode, lateMs: number): void {
    let counted = node.runtime.images.size;
    let freeAtMs = Number.POSITIVE_INFINITY;
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) freeAtMs = node.clock.now().sinceBootMs + lateMs;
    };
    node.runtime.filesystemReadings = (available) => {
      if (node.clock.now().sinceBootMs >= freeAtMs) counted = node.runtime.images.size;
      return filesystems({ availableBytes: String(available), inodesFree: String(900 - 10 * counted) });
    };
  }
  const toInodes = (atLeast: string) =>
    reclaim({ target: { filesystem: 'imagefs', resource: 'inodesFree', atLeast } });

  test('[M13, M7] in inodes is waited for while only bytes have become free', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    inodesFreedLate(node, 1_900);
    await node.start().carryOut(imageRemoval([a, b], { reclaim: toInodes('890') }));
    expect(node.runtime.gone).toEqual([a]);
  });

  test('[M13, M7] in inodes is waited for no longer once they have grown and stand still', async () => {
    const node = executorNode();
    const ids = addImages(node, ['a', 'b'], 0n);
    inodesFreedLate(node, 500);
    await node.start().carryOut(imageRemoval(ids, { reclaim: toInodes('999') }));
    expect(node.runtime.gone).toEqual(ids);
    const waitedMs = node.slept.reduce((sum, ms) => sum + ms, 0);
    expect(waitedMs).toBeGreaterThan(1_000);
    expect(waitedMs).toBeLessThan(1_300);
  });

  test.each([
    { name: 'capacity 0', reading: { capacityBytes: '0' } },
    { name: 'no available space told', reading: { availableBytes: null } },
  ])('[K11] $name: nothing goes, since nobody could see when to stop', async ({ reading }) => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const bad = {
      mountpoint: '/',
      device: '8:1',
      capacityBytes: '1000',
      availableBytes: '100',
      inodes: '1',
      inodesFree: '1',
      ...reading,
    };
    node.runtime.filesystemReadings = () => ({ nodefs: bad, imagefs: bad, containerfs: bad });
    await node.start().carryOut(imageRemoval([a], { reclaim: toTarget('900') }));
    expect(node.runtime.calls).toEqual([]);
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'not-done' });
  });

  test('[D4, K11] more available than there is counts as all of it', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.filesystemReadings = () => {
      const reading = {
        mountpoint: '/',
        device: '8:1',
        capacityBytes: '1000',
        availableBytes: '5000',
        inodes: null,
        inodesFree: null,
      };
      return { nodefs: reading, imagefs: reading, containerfs: reading };
    };
    const result = await node.start().carryOut(imageRemoval([a], { reclaim: toTarget('1001') }));
    // No policy justifies a target beyond the end of the disk.
    expect(result).toMatchObject({ targetReached: true, measured: { afterBytes: '1000' } });
  });
});
