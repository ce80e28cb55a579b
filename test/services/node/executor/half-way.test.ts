import { existsSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { addContainer, addImages, addSandbox, executorNode, until } from './support/executor-node.ts';

describe('a container', () => {
  test('[G19] stays where its logs cannot be looked for', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    // A path longer than any system takes: no directory of it can be opened.
    const long = `${dirname(logPath)}/${'x'.repeat(300)}/0.log`;
    addContainer(node, 'other', { logPath: long, name: 'app' });
    await node.start().carryOut(containerRemoval(['other']));
    expect(node.outcomes().other).toMatchObject({ outcome: 'failed', reason: 'log-removal-failed' });
    expect(node.runtime.calls).toEqual([]);
  });

  test('[G19, K4] stays where its state cannot be asked after its logs went, and the result says what went', async () => {
    const node = executorNode();
    const logPath = addContainer(node, 'dead');
    node.runtime.before = (call) => {
      if (call === 'containerStatus dead' && !existsSync(logPath))
        throw new FleetGcError('RUNTIME_FAILED', 'no answer today');
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.runtime.calls).toEqual([]);
    expect(node.outcomes().dead).toMatchObject({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'no answer today',
      alreadyDone: ['logs-removed'],
    });
  });

  test('[G19, G22] tells that its symlink went, where that alone was there', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { logPath: join(node.podLogsDir, 'default_web_pod-1', 'gone', '0.log') });
    symlinkSync('/nowhere', join(node.containerLogsDir, 'web_default_app-dead.log'));
    node.runtime.before = (call) => {
      if (call.startsWith('removeContainer')) throw new FleetGcError('RUNTIME_FAILED', 'shim is gone');
    };
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes().dead).toMatchObject({ outcome: 'failed', alreadyDone: ['logs-removed'] });
  });
});

test('[H6] a sandbox that the runtime does not know any more at its stop is looked at once more', async () => {
  const node = executorNode();
  addSandbox(node, 'sandbox-1');
  node.runtime.before = (call) => {
    if (!call.startsWith('stopSandbox')) return;
    node.runtime.sandboxes.set('sandbox-1', { ...ready(node), state: 'ready' });
    throw new FleetGcError('RUNTIME_NOT_FOUND', 'no such sandbox');
  };
  await node.start().carryOut(containerRemoval(['sandbox-1']));
  expect(node.outcomes()['sandbox-1']).toMatchObject({ outcome: 'refused', reason: 'ready' });
  expect(node.runtime.sandboxes.has('sandbox-1')).toBe(true);
});

function ready(node: ReturnType<typeof executorNode>) {
  const sandbox = node.runtime.sandboxes.get('sandbox-1');
  if (sandbox === undefined) throw new Error('the sandbox is there');
  return sandbox;
}

describe('a command that a new process goes on with', () => {
  /** Dies with its second image in hand; the disk can be read before that only if `isReadable`. */
  async function interrupted({ inodesFree }: { readonly inodesFree: string | null }) {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.filesystemReadings = (available) =>
      filesystems({ availableBytes: String(available), inodesFree });
    const command = imageRemoval([a, b], { reclaim: toTarget('990') });
    const first = node.start();
    node.runtime.before = (call) => {
      if (call === `removeImage ${b}`) first.kill();
    };
    await first.receive(command);
    await until('the second image', () => node.runtime.calls.find((call) => call === `removeImage ${b}`));
    node.runtime.before = () => undefined;
    return { node, command };
  }

  test.each(['900', null])('is measured from its beginning, with %s inodes free', async (inodesFree) => {
    const { node, command } = await interrupted({ inodesFree });
    const result = await node.start().carryOut(command);
    expect(result).toMatchObject({
      outcome: 'done',
      measured: { filesystem: 'imagefs', beforeBytes: '800' },
    });
  });
});
