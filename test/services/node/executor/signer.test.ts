import { expect, test } from 'vitest';
import { imageRemoval } from '../../../fixtures/command.ts';
import { addImages, executorNode } from './support/executor-node.ts';

const REVOKED = 'its key was revoked (stolen)';

test('a key that is taken back in the middle of a command stops it', async () => {
  const node = executorNode();
  const [a = '', b = ''] = addImages(node, ['a', 'b']);
  node.runtime.after = (call) => {
    if (call === `removeImage ${a}`) node.objectionTo = () => REVOKED;
  };
  await node.start().carryOut(imageRemoval([a, b]));
  expect(node.outcomes()).toMatchObject({
    [a]: { outcome: 'removed' },
    [b]: { reason: 'not-trusted', message: REVOKED },
  });
});

test('a command that waited over a restart is refused when its key counts no more', async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  node.policy = () => ({ kind: 'unreadable', message: 'not read yet' });
  const first = node.start();
  await first.receive(imageRemoval([a]));
  first.kill();
  const asked: (string | null)[] = [];
  node.objectionTo = (keyId) => {
    asked.push(keyId);
    return REVOKED;
  };
  node.policy = executorNode().policy;
  node.start();
  await expect.poll(() => node.result()).toMatchObject({ outcome: 'refused', reason: 'not-trusted' });
  expect(node.runtime.images.has(a)).toBe(true);
  expect(new Set(asked)).toEqual(new Set([null]));
});

test('while nobody can tell whose signature counts, nothing goes', async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  node.objectionTo = () => {
    throw new Error('the keys are not read yet');
  };
  expect(await node.start().carryOut(imageRemoval([a]))).toMatchObject({
    outcome: 'refused',
    reason: 'not-trusted',
    message: expect.stringContaining('the keys are not read yet'),
  });
  expect(node.runtime.images.has(a)).toBe(true);
});
