import { expect, test } from 'vitest';
import { imageRemoval } from '../../../fixtures/command.ts';
import { listedContainer } from '../../../fixtures/listing.ts';
import { addImages, addSandbox, executorNode, knowImage } from './support/executor-node.ts';

/** The lock of the state directory keeps a second process away; a directory that was copied has a lock of its own. */
test('two processes of one node that carry out the same command remove each image once, and nothing that is in use', async () => {
  const node = executorNode();
  const [first = '', used = '', last = ''] = addImages(node, ['first', 'used', 'last']);
  const copy = executorNode(node);
  for (const id of [first, used, last]) knowImage(copy.state, id);
  addSandbox(node, 'pod');
  node.runtime.containers.set('c', listedContainer('c', { imageId: used, sandboxId: 'pod' }));

  const command = imageRemoval([first, used, last]);
  await Promise.all([node, copy].map((each) => each.start().carryOut(command)));

  expect(node.runtime.gone.toSorted()).toEqual([first, last].toSorted());
  for (const each of [node, copy]) {
    const { [used]: kept, ...others } = each.outcomes();
    expect(kept).toMatchObject({ outcome: 'refused', reason: 'in-use' });
    for (const { outcome } of Object.values(others)) expect(['removed', 'not-found']).toContain(outcome);
  }
});
