import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { addContainer, addImages, executorNode, until } from './support/executor-node.ts';

test('[K7] commands that come together are carried out one removal at a time, in their order', async () => {
  const node = executorNode();
  const images = addImages(node, ['a', 'b']);
  addContainer(node, 'dead');
  const running = new Set<string>();
  const most: number[] = [];
  node.runtime.before = async (call) => {
    if (!call.startsWith('remove')) return;
    running.add(call);
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    most.push(running.size);
  };
  node.runtime.after = (call) => {
    running.delete(call);
  };
  const executor = node.start();
  await Promise.all([
    executor.receive(containerRemoval(['dead'])),
    executor.receive(imageRemoval(images, { id: 'images' })),
  ]);
  await until('the end of the second command', () => node.result('images'));
  expect(most).toEqual([1, 1, 1]);
  expect(node.runtime.gone).toEqual(['dead', ...images]);
});
