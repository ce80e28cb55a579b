import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../services/shared/errors.ts';
import { imageRemoval } from '../fixtures/command.ts';
import { filesystems } from '../fixtures/filesystems.ts';
import { digestOf, imageSpec } from '../fixtures/listing.ts';
import { reclaim } from '../fixtures/reclaim.ts';
import { NOW } from '../fixtures/time.ts';
import { addContainer, addImages, type ExecutorNode, executorNode } from './executor-node.ts';

const ids = (...names: string[]): string[] => names.map(digestOf);
const toTarget = (atLeast: string) =>
  reclaim({ target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast } });

describe('images of a command', () => {
  test('[D11] go one after the other, and each has its result', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b', 'not named']);
    const result = await node.start().carryOut(imageRemoval([a, b]));
    expect(node.runtime.calls).toEqual([`removeImage ${a}`, `removeImage ${b}`]);
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' }, [b]: { outcome: 'removed' } });
    expect(result).toEqual({
      outcome: 'done',
      removed: 2,
      notFound: 0,
      refused: 0,
      failed: 0,
      notNeeded: 0,
      notDone: 0,
      measured: { filesystem: 'imagefs', beforeBytes: '970', afterBytes: '990' },
      targetReached: null,
    });
  });

  test('[M31] that are gone already are a success and cost no attempt', async () => {
    const node = executorNode();
    const result = await node.start().carryOut(imageRemoval(ids('gone')));
    expect(node.runtime.calls).toEqual([]);
    expect(node.outcomes()).toEqual({ [digestOf('gone')]: { outcome: 'not-found' } });
    expect(result).toMatchObject({ notFound: 1, failed: 0 });
  });

  test('[M31] that somebody else removes at the same moment are a success', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === `removeImage ${a}`) node.runtime.images.clear();
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()).toEqual({ [a]: { outcome: 'not-found' } });
  });

  test('[K5, M5] that a container began to use after the decision stay, also in the middle of a command', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) addContainer(node, 'new', { state: 'created', imageId: b });
    };
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed' },
      [b]: { outcome: 'refused', reason: 'in-use', message: expect.stringContaining('container new') },
    });
    expect([...node.runtime.images.keys()]).toEqual([b]);
  });

  test('[C10] that a pod wants stay', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.wantedByPods = [{ uid: 'p', images: ['registry.example/team/a:1'], finished: false }];
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'in-use' });
  });
});

describe('a removal that fails', () => {
  test('[F4, M17, M18] leaves the others their turn, and both the error and the freed space are told', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.before = (call) => {
      if (call === `removeImage ${a}`) throw new FleetGcError('RUNTIME_FAILED', 'device busy');
    };
    const command = imageRemoval([a, b], { reclaim: toTarget('890') });
    expect(await node.start().carryOut(command)).toMatchObject({
      removed: 1,
      failed: 1,
      targetReached: true,
      measured: { beforeBytes: '800', afterBytes: '900' },
    });
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'device busy',
      backoffUntilMs: NOW + 60_000,
    });
  });

  test('because the runtime reported success and lists the image still [M7]', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const kept = node.runtime.images.get(a);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}` && kept) node.runtime.images.set(a, kept);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'still-listed' });
  });

  test('because the runtime did not answer within its deadline', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_TIMEOUT', 'no answer');
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'deadline-exceeded' });
  });

  test('by its deadline but went all the same counts as removed', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_TIMEOUT', 'no answer');
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
  });

  test('and cannot be verified counts as failed', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.after = (call) => {
      if (!call.startsWith('removeImage')) return;
      node.runtime.before = (next) => {
        if (next === 'listImages') throw new FleetGcError('RUNTIME_MISSING', 'no socket');
      };
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'no socket',
    });
  });

  test('[M33] makes the object back off, longer each time, until it goes', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let failing = true;
    node.runtime.before = (call) => {
      if (failing && call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_FAILED', 'busy');
    };
    const executor = node.start();
    const tryAt = async (id: string, waitMs: number) => {
      node.clock.advance(waitMs);
      await executor.carryOut(imageRemoval([a], { id, takenAt: node.clock.now() }));
      return node.outcomes(id)[a];
    };
    expect(await tryAt('1', 0)).toMatchObject({ outcome: 'failed' });
    expect(await tryAt('2', 50_000)).toMatchObject({ outcome: 'refused', reason: 'backing-off' });
    expect(await tryAt('3', 10_000)).toMatchObject({ outcome: 'failed' });
    expect(await tryAt('4', 110_000)).toMatchObject({ outcome: 'refused', reason: 'backing-off' });
    failing = false;
    expect(await tryAt('5', 10_000)).toMatchObject({ outcome: 'removed' });
    expect(JSON.parse(node.state.files.get('backoff') ?? '')).toEqual({ version: 1, objects: [] });
  });
});

test("[M33] what the node's own file keeps is left out for a while, so that it does not fill every plan", async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  writeFileSync(node.localFile, 'keepPatterns: ["**"]\n');
  await node.start().carryOut(imageRemoval([a]));
  expect(node.outcomes()[a]).toMatchObject({ outcome: 'refused', reason: 'kept-by-node' });
  expect(JSON.parse(node.state.files.get('backoff') ?? '')).toMatchObject({
    objects: [{ id: a, failures: 1 }],
  });
});

describe('the target of a reclaim', () => {
  test('[M7, D12] as measured ends the work early', async () => {
    const node = executorNode();
    const [a = '', b = '', c = ''] = addImages(node, ['a', 'b', 'c'], 100n);
    const result = await node.start().carryOut(imageRemoval([a, b, c], { reclaim: toTarget('900') }));
    expect(node.runtime.gone).toEqual([a, b]);
    expect(node.outcomes()[c]).toMatchObject({ outcome: 'not-needed' });
    expect(result).toMatchObject({ removed: 2, notNeeded: 1, targetReached: true });
  });

  test('[M7] listed sizes do not count: what frees less than it says does not end the work', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) node.runtime.otherBytes += 60n;
    };
    const items = [a, b].map((id) => ({ kind: 'image' as const, id, sizeBytes: 1_000_000, rule: 'D10' }));
    await node.start().carryOut(imageRemoval([], { items, reclaim: toTarget('850') }));
    expect(node.runtime.gone).toEqual([a, b]);
  });

  test('that is reached before the first removal leaves everything', async () => {
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
    expect(result).toMatchObject({ targetReached: false, measured: { afterBytes: '1000' } });
  });
});

describe('facts', () => {
  test('of more than a second ago are read again', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let slow = true;
    node.state.afterWrite = () => {
      if (!slow || !inHand(node.state.files)) return;
      slow = false;
      node.clock.advance(1_001);
      addContainer(node, 'new', { imageId: a });
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'in-use' });
  });

  test('of exactly a second ago are good enough', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let slow = true;
    let looks = 0;
    node.runtime.before = (call) => {
      if (call === 'listSandboxes') looks += 1;
    };
    node.state.afterWrite = () => {
      if (!slow || !inHand(node.state.files)) return;
      slow = false;
      node.clock.advance(1_000);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
    expect(looks).toBe(2);
  });

  test('that took long to gather are as new as the last listing, which confirms them', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === 'status') node.clock.advance(5_000);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
  });

  test('that a runtime gives too slowly lead to no removal', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === 'listContainers') node.clock.advance(600);
    };
    node.runtime.after = (call) => {
      if (call === 'listContainers') node.clock.advance(600);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'runtime-unavailable' });
    expect(node.runtime.calls).toEqual([]);
  });

  test('that change while they are read are read again', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let changes = 2;
    node.runtime.after = (call) => {
      if (call === 'listContainers' && changes-- > 0)
        addContainer(node, `new-${changes}`, { image: imageSpec({ image: 'x' }) });
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
  });

  test('that cannot be had lead to no removal', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.before = (call) => {
      if (call === 'listContainers') throw new FleetGcError('RUNTIME_REFUSED', 'connection refused');
    };
    const result = await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()[a]).toMatchObject({
      reason: 'runtime-unavailable',
      message: 'connection refused',
    });
    expect(result).toMatchObject({ outcome: 'done', refused: 2 });
    expect(node.runtime.calls).toEqual([]);
  });

  test('that come when the command is over are too late', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === 'status') node.clock.advance(60_000);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'expired' });
  });
});

describe('an executor that fails itself', () => {
  test('ends the command, says so, and goes on with the next', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    let failing = true;
    node.runtime.before = (call) => {
      if (failing && call === 'statfs' && node.runtime.gone.length > 0)
        throw new Error('nobody foresaw this');
    };
    const executor = node.start();
    expect(await executor.carryOut(imageRemoval([a, b]))).toMatchObject({ removed: 0, notDone: 2 });
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'not-done', message: expect.stringContaining('may be gone: nobody foresaw this') },
      [b]: { outcome: 'not-done', message: expect.stringContaining('nobody foresaw this') },
    });
    const overtaken = imageRemoval([b], { id: 'overtaken' });
    expect(await executor.carryOut(overtaken)).toMatchObject({ reason: 'superseded' });
    expect(node.logLines.some((line) => line.includes('command abandoned'))).toBe(true);
    failing = false;
    node.clock.advance(10);
    const next = imageRemoval([b], { id: 'command-2', takenAt: node.clock.now() });
    expect(await executor.carryOut(next)).toMatchObject({ removed: 1 });
  });
});

describe("the node's last word", () => {
  test('is waited for at the start, when the policies are not read yet', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let asked = 0;
    node.pause = () => {
      if (asked++ < 20) throw new FleetGcError('POLICIES_UNREADABLE', 'still reading');
      return null;
    };
    expect(await node.start().carryOut(imageRemoval([a]))).toMatchObject({ removed: 1 });
  });

  test('in the middle of a command stops it', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) writeFileSync(node.localFile, 'hold: true\n');
    };
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' }, [b]: { reason: 'held' } });
  });

  test('limits removals per hour over all commands and restarts', async () => {
    const node = executorNode();
    const [a = '', b = '', c = ''] = addImages(node, ['a', 'b', 'c']);
    writeFileSync(node.localFile, 'maxRemovalsPerHour: 2\n');
    const first = node.start();
    await first.carryOut(imageRemoval([a], { id: 'first' }));
    await first.stop();
    node.clock.advance(30 * 60_000);
    const second = node.start();
    await second.carryOut(imageRemoval([b, c], { id: 'second', takenAt: node.clock.now() }));
    expect(node.outcomes('second')).toMatchObject({
      [b]: { outcome: 'removed' },
      [c]: { reason: 'rate-limited' },
    });
    node.clock.advance(31 * 60_000);
    await second.carryOut(imageRemoval([c], { id: 'third', takenAt: node.clock.now() }));
    expect(node.outcomes('third')).toMatchObject({ [c]: { outcome: 'removed' } });
  });

  test('pause in the middle of a command stops it', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const selector = { clusters: [], nodeNames: [], pools: [], nodeLabels: {} };
    node.runtime.after = (call) => {
      if (call !== `removeImage ${a}`) return;
      node.pause = () => ({ type: 'fleetgc.pause', version: 1, id: 'p', selector, reason: 'maintenance' });
    };
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()[b]).toMatchObject({
      reason: 'paused',
      message: expect.stringContaining('maintenance'),
    });
  });

  test('a pause that cannot be read any more stops it', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    node.pause = () => {
      throw new FleetGcError('POLICIES_UNREADABLE', 'gc.policies is gone');
    };
    expect(await executor.carryOut(imageRemoval([a]))).toMatchObject({ outcome: 'refused', reason: 'held' });
    expect(node.runtime.calls).toEqual([]);
  });
});

const inHand = (files: ReadonlyMap<string, string>): boolean =>
  (files.get('journal') ?? '').includes('in-hand');
