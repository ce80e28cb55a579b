import { describe, expect, test } from 'vitest';
import type { Observe } from '../../schemas/observe.ts';
import type { PressureUnrelieved } from '../../schemas/result.ts';
import { afterCommand } from '../../services/node-executor/reclaim.ts';
import { FleetGcError } from '../../services/shared/errors.ts';
import { containerRemoval, imageRemoval } from '../fixtures/command.ts';
import { digestOf } from '../fixtures/listing.ts';
import { reclaim } from '../fixtures/reclaim.ts';
import { instant } from '../fixtures/time.ts';
import { addContainer, addImages, type ExecutorNode, executorNode, until } from './executor-node.ts';

/** What of a reclaim went on the log after the command's result. */
const next = ({ published }: ExecutorNode): readonly (Observe | PressureUnrelieved)[] =>
  published.flatMap((event) =>
    event.type === 'fleetgc.node.observe' || event.type === 'fleetgc.node.pressure-unrelieved' ? [event] : [],
  );

const unreachable = { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '1000' } as const;
const step = (over: Parameters<typeof reclaim>[0]) => reclaim({ target: unreachable, ...over });

async function reclaimed(prepare: (node: ExecutorNode) => Parameters<typeof carry>[1]) {
  const node = executorNode();
  const command = prepare(node);
  await carry(node, command);
  return { node, events: next(node) };
}

async function carry(
  node: ExecutorNode,
  command: Parameters<ReturnType<ExecutorNode['start']>['carryOut']>[0],
) {
  const executor = node.start();
  await executor.carryOut(command);
  await executor.stop();
}

test('a command for containers that was overtaken: the reclaim goes on to its images', async () => {
  const node = executorNode();
  addContainer(node, 'dead');
  const executor = node.start();
  await executor.carryOut(containerRemoval(['dead'], { id: 'periodic' }));
  const late = containerRemoval(['dead'], { id: 'late', reclaim: step({ step: 'containers' }) });
  expect(await executor.carryOut(late)).toMatchObject({ outcome: 'refused', reason: 'superseded' });
  await executor.stop();
  expect(next(node)).toMatchObject([{ type: 'fleetgc.node.observe', reclaim: { step: 'images', round: 1 } }]);
});

test('a command that was cut short says nothing of what could not be relieved', () => {
  const command = imageRemoval(['a'], { reclaim: step({ step: 'images' }) });
  const ended = { removed: 0, targetReached: false, availableNow: 1n, at: instant() };
  expect(afterCommand(command, { ...ended, notDone: 0 })?.topic).toBe('results');
  expect(afterCommand(command, { ...ended, notDone: 1 })).toBeUndefined();
});

describe('after a command of a reclaim', () => {
  test('the target is reached: nothing follows', async () => {
    const { events } = await reclaimed((node) => {
      const ids = addImages(node, ['a'], 100n);
      return imageRemoval(ids, { reclaim: reclaim({ target: { ...unreachable, atLeast: '950' } }) });
    });
    expect(events).toEqual([]);
  });

  test('of containers: the images are looked at, with a time after the last removal', async () => {
    const { node, events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      addContainer(node, 'dead');
      return containerRemoval(['dead'], { reclaim: step({ step: 'containers' }) });
    });
    expect(events).toMatchObject([
      {
        type: 'fleetgc.node.observe',
        lifetimeMs: 60_000,
        reclaim: { id: 'reclaim-1', step: 'images', round: 1 },
      },
    ]);
    const journal = JSON.parse(node.state.files.get('journal') ?? '');
    expect(events[0]?.takenAt.sinceBootMs).toBeGreaterThan(journal.lastActions.container.at.sinceBootMs);
  });

  test('of containers that removed nothing: the images are looked at all the same', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return containerRemoval(['gone'], { reclaim: step({ step: 'containers' }) });
    });
    expect(events).toMatchObject([{ reclaim: { step: 'images', round: 1 } }]);
  });

  test('of containers that failed at once: the order is not as old as the attempt', async () => {
    const { node, events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      addContainer(node, 'dead');
      node.runtime.before = (call) => {
        if (call === 'removeContainer dead') throw new FleetGcError('RUNTIME_FAILED', 'busy');
      };
      return containerRemoval(['dead'], { reclaim: step({ step: 'containers' }) });
    });
    const journal = JSON.parse(node.state.files.get('journal') ?? '');
    expect(events[0]?.takenAt.sinceBootMs).toBeGreaterThan(journal.lastActions.container.at.sinceBootMs);
  });

  test('of images that removed something: the next round', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return imageRemoval(addImages(node, ['a']), { reclaim: step({ round: 4 }) });
    });
    expect(events).toMatchObject([{ type: 'fleetgc.node.observe', reclaim: { step: 'images', round: 5 } }]);
  });

  test('[M8] of images in the last round: pressure is unrelieved, with what holds the space', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return imageRemoval(addImages(node, ['a']), { reclaim: step({ round: 5 }) });
    });
    expect(events).toMatchObject([
      {
        type: 'fleetgc.node.pressure-unrelieved',
        availableNow: '900',
        holders: [{ reason: 'in-use', objects: 2, bytes: 20 }],
      },
    ]);
  });

  test('[M8] of images that removed nothing: pressure is unrelieved', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return imageRemoval([digestOf('gone')], { reclaim: step({ round: 1 }) });
    });
    expect(events).toMatchObject([{ type: 'fleetgc.node.pressure-unrelieved' }]);
  });

  test('on a node that was paused meanwhile: nothing follows', async () => {
    const { events } = await reclaimed((node) => {
      const ids = addImages(node, ['a', 'b']);
      const selector = { clusters: [], nodeNames: [], nodeLabels: {} };
      node.runtime.after = (call) => {
        if (call.startsWith('removeImage')) {
          node.pause = () => ({ type: 'fleetgc.pause', version: 1, id: 'p', selector, reason: '' });
        }
      };
      return imageRemoval(ids, { reclaim: step({}) });
    });
    expect(events).toEqual([]);
  });

  test('that was refused: nothing follows', async () => {
    const { events, node } = await reclaimed((node) => {
      node.clock.advance(60_000);
      return imageRemoval(addImages(node, ['a']), { reclaim: step({}) });
    });
    expect(node.result()).toMatchObject({ outcome: 'refused', reason: 'expired' });
    expect(events).toEqual([]);
  });

  test('outside any reclaim: nothing follows', async () => {
    const { events } = await reclaimed((node) => imageRemoval(addImages(node, ['a'])));
    expect(events).toEqual([]);
  });

  test('the order leaves only after the results before it are acknowledged', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 100n;
    const command = imageRemoval(addImages(node, ['a']), { reclaim: step({}) });
    let refuse = true;
    let attempts = 0;
    const publishes: string[][] = [];
    node.beforePublish = (records) => {
      publishes.push([...new Set(records.map(({ topic }) => topic))]);
      if (!records.some(({ topic }) => topic === 'gc.node.results') || !refuse) return;
      attempts += 1;
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    };
    const executor = node.start();
    await executor.receive(command);
    await until('three attempts to publish', () => (attempts >= 3 ? true : undefined));
    expect(node.published).toEqual([]);
    refuse = false;
    await until('the order', () => next(node)[0]);
    expect(publishes.filter((topics) => topics.length !== 1)).toEqual([]);
    expect(node.published.map(({ type }) => type)).toEqual([
      'fleetgc.node.object-result',
      'fleetgc.node.command-result',
      'fleetgc.node.observe',
    ]);
    await executor.stop();
  });
});
