import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { imageSpec } from '../../../fixtures/listing.ts';
import {
  addContainer,
  addImages,
  addSandbox,
  type ExecutorNode,
  executorNode,
} from './support/executor-node.ts';

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

  test('are no newer than the question for the last listing: an answer that takes long confirms nothing', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.after = (call) => {
      if (call === 'listImages') node.clock.advance(1_001);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ reason: 'runtime-unavailable' });
    expect(node.runtime.calls).toEqual([]);
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

describe('before each step of a removal', () => {
  const pause = (node: ExecutorNode): void => {
    node.policy = () => ({ kind: 'paused', pause: { reason: 'maintenance' } });
  };

  /** A dead container whose n-th status takes 9 s; each reading of the runtime asks for one, so does each look. */
  function withSlowStatus(nth: number, meanwhile: (node: ExecutorNode) => void = () => undefined) {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    const asked: string[] = [];
    node.runtime.before = (call) => {
      asked.push(call);
      if (call !== 'containerStatus dead' || asked.filter((one) => one === call).length !== nth) return;
      node.clock.advance(9_000);
      meanwhile(node);
    };
    return { node, logPath, asked };
  }

  test.each([
    { name: 'first looked at', nth: 2 },
    { name: 'looked at once more, before its logs', nth: 3 },
  ])('a container whose status takes long when $name is judged again: a pause counts', async ({ nth }) => {
    const { node, logPath } = withSlowStatus(nth, pause);
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toEqual({
      dead: { outcome: 'refused', reason: 'paused', message: expect.any(String) },
    });
  });

  test('a container whose status takes long after its logs went is judged again, and the result says what went', async () => {
    const { node, logPath } = withSlowStatus(4, pause);
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(false);
    expect(node.outcomes()).toMatchObject({ dead: { reason: 'paused', alreadyDone: ['logs-removed'] } });
  });

  test.each([2, 3, 4])(
    'a container whose status took long once goes, once its status is asked after it was judged again (%i)',
    async (nth) => {
      const { node, asked } = withSlowStatus(nth);
      await node.start().carryOut(containerRemoval(['dead']));
      expect(node.outcomes()).toMatchObject({ dead: { outcome: 'removed' } });
      const before = asked.slice(0, asked.indexOf('removeContainer dead'));
      expect(before.at(-1)).toBe('containerStatus dead');
      expect(before.filter((call) => call === 'status').length).toBe(2);
    },
  );

  test('a container whose status always takes long stays, with its logs', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    let looks = 0;
    node.runtime.before = (call) => {
      if (call === 'status') looks += 1;
      if (call === 'containerStatus dead') node.clock.advance(1_001);
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(existsSync(logPath)).toBe(true);
    expect(node.outcomes()).toMatchObject({ dead: { reason: 'runtime-unavailable' } });
    expect(looks).toBe(3);
  });

  test('a sandbox that was stopped stays where the runtime is too slow after it, and the result says so', async () => {
    const node = executorNode();
    addSandbox(node, 'sandbox-1');
    let isStopped = false;
    node.runtime.before = (call) => {
      if (isStopped && call === 'listSandboxes') node.clock.advance(2_000);
    };
    node.runtime.after = (call) => {
      if (call.startsWith('stopSandbox')) isStopped = true;
    };
    await node.start().carryOut(containerRemoval(['sandbox-1']));
    expect(node.runtime.calls).toEqual(['stopSandbox sandbox-1']);
    expect(node.outcomes()).toMatchObject({
      'sandbox-1': { reason: 'runtime-unavailable', alreadyDone: ['stopped'] },
    });
  });
});
