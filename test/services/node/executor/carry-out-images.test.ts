import { describe, expect, test } from 'vitest';
import { imageRemoval } from '../../../fixtures/command.ts';
import { digestOf } from '../../../fixtures/listing.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { addContainer, addImages, executorNode } from './support/executor-node.ts';

const ids = (...names: string[]): string[] => names.map(digestOf);

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
      estimatedBytes: 20,
      targetReached: null,
    });
  });

  test('[M7] the result tells what the plan counted what went with, beside what was measured', async () => {
    const node = executorNode();
    const [shared = '', used = '', own = ''] = addImages(node, ['shared', 'used', 'own'], 10n);
    addContainer(node, 'c', { imageId: used });
    const { items } = imageRemoval([shared, used, own]);
    const counted = items.map((item, index) => ({ ...item, estimatedBytes: [1, 200, 12][index] ?? 0 }));
    const result = await node.start().carryOut(imageRemoval([], { items: counted }));
    expect(result).toMatchObject({
      removed: 2,
      refused: 1,
      estimatedBytes: 13,
      measured: { beforeBytes: '970', afterBytes: '990' },
    });
  });

  test('[M7] something else that fills the disk meanwhile makes what was freed not measurable, and never negative', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a'], 10n);
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) node.runtime.otherBytes = 500n;
    };
    const executor = node.start();
    const counted = imageRemoval([a]).items.map((item) => ({ ...item, estimatedBytes: 9 }));
    await executor.carryOut(imageRemoval([], { items: counted }));
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'removed',
      measured: { beforeBytes: '990', afterBytes: '500' },
      estimatedBytes: 9,
    });
    const metrics = await executor.metrics.text();
    expect(metrics).toContain('fleetgc_executor_freed_bytes_total{kind="image"} 0\n');
    expect(metrics).toContain('fleetgc_executor_unmeasured_removals_total{kind="image"} 1\n');
  });

  test('are counted as the kubelet counts them, with what was wanted, and why others stay', async () => {
    const node = executorNode();
    const [a = '', used = ''] = addImages(node, ['a', 'used'], 10n);
    addContainer(node, 'c', { imageId: used });
    const executor = node.start();
    await executor.carryOut(imageRemoval([used, a], { reclaim: toTarget('990') }));
    const metrics = await executor.metrics.text();
    expect(metrics).toContain('fleetgc_image_garbage_collected_total{reason="space"} 1\n');
    expect(metrics).toContain('fleetgc_executor_wanted_bytes_total 10\n');
    expect(metrics).toMatch(/executor_objects_not_removed_total\{outcome="refused",reason="[a-z-]+"\} 1\n/);
    expect(metrics).toContain('fleetgc_executor_command_duration_seconds_count{kind="image-removal"} 1\n');
  });

  test('are named in the log lines, so that somebody who knows a name finds what became of it', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    await node.start().carryOut(imageRemoval([a]));
    const line = node.logLines.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'object done');
    expect(line).toMatchObject({ id: a, name: 'registry.example/team/a:1', outcome: 'removed' });
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
