import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { imageRemoval } from '../../../fixtures/command.ts';
import { addImages, type ExecutorNode, executorNode } from './support/executor-node.ts';

describe("the node's last word", () => {
  test('is waited for at the start, when the policies are not read yet', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let asked = 0;
    const { policy } = node;
    node.policy = () => (asked++ < 20 ? { kind: 'unreadable', message: 'still reading' } : policy());
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

  test('holds while an editor saves it', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    writeFileSync(node.localFile, 'keepPatterns: ["**/kept"]\n');
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) rmSync(node.localFile);
    };
    const executor = node.start();
    await executor.carryOut(imageRemoval([a, b]));
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' }, [b]: { reason: 'held' } });
  });

  test('holds after a restart at which its file is missing, though it was never asked for a removal', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    writeFileSync(node.localFile, 'keepPatterns: ["**/kept"]\n');
    await node.start().stop();
    rmSync(node.localFile);
    const result = await node.start().carryOut(imageRemoval([a]));
    expect(result).toMatchObject({ outcome: 'refused', reason: 'held' });
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

  test.each([
    {
      name: 'a pause',
      forbid: (node: ExecutorNode) => {
        node.policy = () => ({ kind: 'paused', pause: { reason: 'maintenance' } });
      },
      reason: 'paused',
    },
    {
      name: 'hold: true in its own file',
      forbid: (node: ExecutorNode) => writeFileSync(node.localFile, 'hold: true\n'),
      reason: 'held',
    },
  ])('counts where it comes while the runtime is read: $name', async ({ forbid, reason }) => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === 'status') forbid(node);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.runtime.calls).toEqual([]);
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'refused', reason });
  });

  test('limits removals per hour also where the journal that counted them was lost', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    writeFileSync(node.localFile, 'maxRemovalsPerHour: 1\n');
    node.state.files.set('journal', '{"version":1}');
    const executor = node.start();
    const tryAfter = async (id: string, minutes: number) => {
      node.clock.advance(minutes * 60_000);
      await executor.carryOut(imageRemoval([a], { id, takenAt: node.clock.now() }));
      return node.outcomes(id)[a];
    };
    const message = expect.stringContaining('journal lost');
    expect(await tryAfter('first', 1)).toMatchObject({ reason: 'rate-limited', message });
    expect(await tryAfter('second', 58)).toMatchObject({ reason: 'rate-limited' });
    expect(await tryAfter('third', 3)).toMatchObject({ outcome: 'removed' });
    const isTold = (line: string) => line.includes('removals per hour counts as reached');
    expect(node.logLines.filter(isTold)).toHaveLength(1);
  });

  test('pause in the middle of a command stops it', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    node.runtime.after = (call) => {
      if (call !== `removeImage ${a}`) return;
      node.policy = () => ({ kind: 'paused', pause: { reason: 'maintenance' } });
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
    node.policy = () => ({ kind: 'unreadable', message: 'gc.policies is gone' });
    expect(await executor.carryOut(imageRemoval([a]))).toMatchObject({ outcome: 'refused', reason: 'held' });
    expect(node.runtime.calls).toEqual([]);
  });
});
