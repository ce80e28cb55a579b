import { expect, test } from 'vitest';
import type { FilesystemName } from '../../../../schemas/events/filesystem.ts';
import { measuredFilesystem } from '../../../../services/node/executor/measure.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../fixtures/command.ts';
import { filesystem } from '../../../fixtures/filesystems.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { addContainer, addImages, executorNode } from './support/executor-node.ts';

/** A node with three disks, told apart by what they have available. */
function threeDisks() {
  const node = executorNode();
  node.runtime.filesystemReadings = () => ({
    nodefs: filesystem({ availableBytes: '100' }),
    imagefs: filesystem({ availableBytes: '200' }),
    containerfs: filesystem({ availableBytes: '300' }),
  });
  return node;
}

const target = (name: FilesystemName) =>
  reclaim({ round: 5, target: { filesystem: name, resource: 'availableBytes', atLeast: '900' } });

const AVAILABLE = { nodefs: '100', imagefs: '200', containerfs: '300' } as const;

test.each(['nodefs', 'imagefs', 'containerfs'] as const)(
  '[J15, M23] a command of a reclaim is measured on the filesystem of its target, and every event names it: %s',
  async (name) => {
    const node = threeDisks();
    const [a = ''] = addImages(node, ['a']);
    const result = await node.start().carryOut(imageRemoval([a], { reclaim: target(name) }));
    expect(result).toMatchObject({ measured: { filesystem: name, afterBytes: AVAILABLE[name] } });
    expect(node.outcomes()[a]).toMatchObject({ measured: { filesystem: name } });
    const failed = { measured: { filesystem: name }, target: { filesystem: name } };
    expect(node.published.filter(({ type }) => type === 'fleetgc.node.pass-failed')).toMatchObject(
      // A reclaim that an eviction signal forced is not told so (F3).
      name === 'imagefs' ? [failed] : [],
    );
    expect(node.published.filter(({ type }) => type === 'fleetgc.node.pressure-unrelieved')).toMatchObject([
      { reclaim: { target: { filesystem: name } }, availableNow: AVAILABLE[name] },
    ]);
  },
);

test('a command without a reclaim is measured where its objects lie', async () => {
  const node = threeDisks();
  addContainer(node, 'dead');
  const executor = node.start();
  const both = containerRemoval(['gone']);
  const commands = [
    imageRemoval(addImages(node, ['a']), { id: 'images' }),
    containerRemoval(['dead'], { id: 'containers' }),
    logRemoval(['default_gone_pod-9']),
    { ...both, id: 'both', items: [...both.items, ...logRemoval(['default_gone_pod-9']).items] },
  ];
  const measured = [];
  for (const command of commands) measured.push(await executor.carryOut(command));
  expect(measured).toMatchObject([
    { measured: { filesystem: 'imagefs', afterBytes: '200' } },
    { measured: { filesystem: 'containerfs', afterBytes: '300' } },
    { measured: { filesystem: 'nodefs', afterBytes: '100' } },
    { measured: { filesystem: 'containerfs', afterBytes: '300' } },
  ]);
});

test('a command is measured where its removals are, when its objects lie on two filesystems in whatever order', () => {
  const containers = containerRemoval(['dead']);
  const logs = logRemoval(['default_gone_pod-9']);
  expect(measuredFilesystem(logs)).toBe('nodefs');
  expect(measuredFilesystem({ ...logs, items: [...logs.items, ...containers.items] })).toBe('containerfs');
  expect(measuredFilesystem({ ...logs, items: [...containers.items, ...logs.items] })).toBe('containerfs');
});
