import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { JournalState } from '../../../../services/node/executor/journal.ts';
import { removalsInLastHour } from '../../../../services/node/executor/local-rules.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { addImages, type ExecutorNode, executorNode, until } from './support/executor-node.ts';

describe('a removal that fails', () => {
  test('[F4, M17, M18] leaves the others their turn, and both the error and the freed space are told', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.before = (call) => {
      if (call === `removeImage ${a}`) throw new FleetGcError('RUNTIME_FAILED', 'device busy');
    };
    const command = imageRemoval([a, b], { reclaim: toTarget('890') });
    expect(await node.start().carryOut(command)).toMatchObject({
      removed: 1,
      failed: 1,
      targetReached: true,
      measured: { beforeBytes: '800', afterBytes: '900' },
    });
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'device busy',
      backoffUntilMs: NOW + 60_000,
    });
  });

  test('[C8] since the runtime has the image in use, though CRI lists no user, is a refusal and no failure, and waits', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call === `removeImage ${a}`)
        throw new FleetGcError('RUNTIME_IMAGE_IN_USE', 'image used by c1: image is in use by a container');
    };
    expect(await node.start().carryOut(imageRemoval([a]))).toMatchObject({ failed: 0, refused: 1 });
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'refused', reason: 'in-use-outside-cri' });
    expect(node.state.files.get('backoff')).toContain(a);
  });

  test('because the runtime reported success and lists the image still [M7]', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const kept = node.runtime.images.get(a);
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}` && kept) node.runtime.images.set(a, kept);
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'still-listed' });
  });

  test('because the runtime did not answer within its deadline', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => {
      if (call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_TIMEOUT', 'no answer');
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'deadline-exceeded' });
  });

  test('by its deadline but went all the same counts as removed', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_TIMEOUT', 'no answer');
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
  });

  test('and cannot be verified counts as failed', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.after = (call) => {
      if (!call.startsWith('removeImage')) return;
      node.runtime.before = (next) => {
        if (next === 'listImages') throw new FleetGcError('RUNTIME_MISSING', 'no socket');
      };
    };
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'no socket',
    });
  });

  test('[M33] makes the object back off, longer each time, until it goes', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let failing = true;
    node.runtime.before = (call) => {
      if (failing && call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_FAILED', 'busy');
    };
    const executor = node.start();
    const tryAt = async (id: string, waitMs: number) => {
      node.clock.advance(waitMs);
      await executor.carryOut(imageRemoval([a], { id, takenAt: node.clock.now() }));
      return node.outcomes(id)[a];
    };
    expect(await tryAt('1', 0)).toMatchObject({ outcome: 'failed' });
    expect(await tryAt('2', 50_000)).toMatchObject({ outcome: 'refused', reason: 'backing-off' });
    expect(await tryAt('3', 10_000)).toMatchObject({ outcome: 'failed' });
    expect(await tryAt('4', 110_000)).toMatchObject({ outcome: 'refused', reason: 'backing-off' });
    failing = false;
    expect(await tryAt('5', 10_000)).toMatchObject({ outcome: 'removed' });
    expect(JSON.parse(node.state.files.get('backoff') ?? '')).toEqual({ version: 1, objects: [] });
  });
});

test("[M33] what the node's own file keeps is left out for a while, so that it does not fill every plan", async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  writeFileSync(node.localFile, 'keepPatterns: ["**"]\n');
  await node.start().carryOut(imageRemoval([a]));
  expect(node.outcomes()[a]).toMatchObject({ outcome: 'refused', reason: 'kept-by-node' });
  expect(JSON.parse(node.state.files.get('backoff') ?? '')).toMatchObject({
    objects: [{ id: a, failures: 1 }],
  });
});

const journalOf = ({ state }: ExecutorNode): JournalState =>
  JournalState.parse(JSON.parse(state.files.get('journal') ?? ''));

describe('an executor that fails itself', () => {
  /** Whose clock fails after the first removal, as long as `isFailing` says. */
  function nodeWithFailingClock(isFailing: (node: ExecutorNode) => boolean): ExecutorNode {
    const clock = manualClock();
    const node: ExecutorNode = executorNode({
      clock: {
        ...clock,
        now: () => {
          if (node.runtime.gone.length === 0 || !isFailing(node)) return clock.now();
          throw new Error('nobody foresaw this');
        },
      },
    });
    return node;
  }

  const failingOnce = (): (() => boolean) => {
    let failures = 0;
    return () => failures++ === 0;
  };

  test('says that the object in hand may be gone', async () => {
    const node = nodeWithFailingClock(failingOnce());
    const [a = ''] = addImages(node, ['a']);
    expect(await node.start().carryOut(imageRemoval([a]))).toMatchObject({ removed: 0, notDone: 1 });
    const message = expect.stringContaining('may be gone: nobody foresaw this');
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'not-done', message });
  });

  test('counts the object in hand, and no other, as an action', async () => {
    const node = nodeWithFailingClock(failingOnce());
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const executor = node.start();
    await executor.carryOut(imageRemoval([a, b]));
    const { lastActions, removalRate } = journalOf(node);
    expect(lastActions.image).toMatchObject({ commandId: 'command-1', at: node.clock.now() });
    expect(removalsInLastHour(removalRate, node.clock.now())).toBe(1);
    const overtaken = imageRemoval([b], { id: 'overtaken', takenAt: node.clock.now() });
    expect(await executor.carryOut(overtaken)).toMatchObject({ reason: 'superseded' });
  });

  test('ends a command of which it cannot even write the end, counts what was in hand, and goes on', async () => {
    const isUnreported = (line: string) => line.includes('abandoned command is not reported');
    const node = nodeWithFailingClock(({ logLines }) => logLines.filter(isUnreported).length < 3);
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const executor = node.start();
    await executor.receive(imageRemoval([a, b]));
    await until('the end', () => (journalOf(node).entries.length === 0 ? true : undefined));
    expect(node.logLines.filter(isUnreported)).toHaveLength(3);
    expect(node.published).toEqual([]);
    expect(removalsInLastHour(journalOf(node).removalRate, node.clock.now())).toBe(1);
    const overtaken = imageRemoval([b], { id: 'overtaken', takenAt: node.clock.now() });
    expect(await executor.carryOut(overtaken)).toMatchObject({ reason: 'superseded' });
    node.clock.advance(10);
    const next = imageRemoval([b], { id: 'command-2', takenAt: node.clock.now() });
    expect(await executor.carryOut(next)).toMatchObject({ removed: 1 });
  });

  test('ends the command, says so, and goes on with the next', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    let failing = true;
    node.runtime.before = (call) => {
      if (failing && call === 'statfs' && node.runtime.gone.length > 0)
        throw new Error('nobody foresaw this');
    };
    const executor = node.start();
    expect(await executor.carryOut(imageRemoval([a, b]))).toMatchObject({ removed: 1, notDone: 1 });
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed', measured: null },
      [b]: { outcome: 'not-done', message: expect.stringContaining('nobody foresaw this') },
    });
    const overtaken = imageRemoval([b], { id: 'overtaken' });
    expect(await executor.carryOut(overtaken)).toMatchObject({ reason: 'superseded' });
    expect(node.logLines.some((line) => line.includes('command abandoned'))).toBe(true);
    failing = false;
    node.clock.advance(10);
    const next = imageRemoval([b], { id: 'command-2', takenAt: node.clock.now() });
    expect(await executor.carryOut(next)).toMatchObject({ removed: 1 });
  });
});
