import { expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { nextLook } from '../../../support/next-look.ts';
import { addImages, executorNode, until } from './support/executor-node.ts';

const tooLarge = () => new FleetGcError('LOG_RECORD_TOO_LARGE', 'the broker takes no message of that size');

test('a result that the broker does not take as it is has a short message, and is published', async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  node.runtime.before = (call) => {
    if (call.startsWith('removeImage'))
      throw new FleetGcError('RUNTIME_FAILED', `the runtime says ${'no '.repeat(400)}`);
  };
  node.beforePublish = (records) => {
    if (records.some(({ value }) => (value?.length ?? 0) > 1_000)) throw tooLarge();
  };
  const executor = node.start();
  await executor.carryOut(imageRemoval([a]));
  expect(node.published).toMatchObject([{ result: { outcome: 'failed' } }, { result: { outcome: 'done' } }]);
});

test('a result that the broker never takes stays in the journal over restarts, and none before or after it is lost', async () => {
  const node = executorNode();
  const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
  // Once is enough: time passes with each wait of who publishes.
  let tries = 0;
  node.beforePublish = () => {
    if (tries++ === 0) throw tooLarge();
    return new Promise(() => undefined);
  };
  const first = node.start();
  await first.receive(imageRemoval([a, b], { reclaim: toTarget('1000') }));
  await until('both to be gone', () => (node.runtime.gone.length === 2 ? true : undefined));
  for (let look = 0; look < 100; look++) await nextLook(look % 20);
  first.kill();
  expect(node.published).toEqual([]);
  node.beforePublish = () => undefined;
  node.start();
  await until('the result', () => node.result('command-1'));
  expect(Object.values(node.outcomes('command-1')).map(({ outcome }) => outcome)).toEqual([
    'removed',
    'removed',
  ]);
});
