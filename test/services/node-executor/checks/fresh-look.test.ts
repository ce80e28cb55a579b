import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { imageSpec } from '../../../fixtures/listing.ts';
import { addContainer, addImages, executorNode } from '../support/executor-node.ts';

const inHand = (files: ReadonlyMap<string, string>): boolean =>
  (files.get('journal') ?? '').includes('in-hand');

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

  test('tell of what CRI does not list: such an image stays [K2]', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.otherUses = async () => [
      { user: { kind: 'container', id: 'nerdctl' }, imageIds: [a], references: [] },
    ];
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()).toMatchObject({
      [a]: { reason: 'in-use', message: 'container nerdctl uses the image by now' },
      [b]: { outcome: 'removed' },
    });
  });

  test('that containerd does not tell beside CRI lead to no removal', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.otherUses = () => Promise.reject(new FleetGcError('RUNTIME_TIMEOUT', 'no leases in time'));
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'runtime-unavailable', message: 'no leases in time' });
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
