import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { ImageRemoval } from '../../../../schemas/events/command.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../../schemas/events/result.ts';
import type { PolicyInForce } from '../../../../services/node/executor/checks.ts';
import { MAX_WAITING } from '../../../../services/node/executor/journal.ts';
import { afterCommand } from '../../../../services/node/executor/reports.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';
import { addContainer, addImages, type ExecutorNode, executorNode, until } from './support/executor-node.ts';

/** What of a reclaim went on the log after the command's result. */
const next = ({ published }: ExecutorNode): readonly (ReclaimContinues | PressureUnrelieved)[] =>
  published.flatMap((event) =>
    event.type === 'fleetgc.node.reclaim-continues' || event.type === 'fleetgc.node.pressure-unrelieved'
      ? [event]
      : [],
  );

const unpublished = ({ state }: ExecutorNode): readonly unknown[] =>
  JSON.parse(state.files.get('journal') ?? '').unpublished;

const unreachable = { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '1000' } as const;
/** What image-gc wrote into the commands of the fixture. */
const IN_USE = { reason: 'in-use', objects: 2, bytes: 20 };
const step = (over: Parameters<typeof reclaim>[0]) => reclaim({ target: unreachable, ...over });

async function reclaimed(prepare: (node: ExecutorNode) => Parameters<typeof carry>[1]) {
  const node = executorNode();
  const command = prepare(node);
  await carry(node, command);
  return { node, events: next(node) };
}

/** What becomes of an image before its removal. */
const spoil = {
  failed: ({ runtime }: ExecutorNode): void => {
    runtime.before = (call) => {
      if (call.startsWith('removeImage')) throw new FleetGcError('RUNTIME_FAILED', 'device or resource busy');
    };
  },
  refused: (node: ExecutorNode): void => {
    for (const [id, image] of node.runtime.images) node.runtime.images.set(id, { ...image, pinned: true });
  },
  'not-found': ({ runtime }: ExecutorNode): void => runtime.images.clear(),
} as const;

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
  node.runtime.otherBytes = 100n;
  addContainer(node, 'dead');
  const executor = node.start();
  await executor.carryOut(containerRemoval(['dead'], { id: 'periodic' }));
  const late = containerRemoval(['dead'], { id: 'late', reclaim: step({ step: 'containers' }) });
  expect(await executor.carryOut(late)).toMatchObject({ outcome: 'refused', reason: 'superseded' });
  await executor.stop();
  expect(next(node)).toMatchObject([
    { type: 'fleetgc.node.reclaim-continues', reclaim: { step: 'images', round: 1 } },
  ]);
});

test('a command that was cut short says nothing of what could not be relieved', () => {
  const command = imageRemoval(['a'], { reclaim: step({ step: 'images', round: 5 }) });
  const ended = { isHolding: false, targetReached: false, availableNow: 1n, at: instant() };
  const after = (outcome: 'refused' | 'not-done') =>
    afterCommand(command, { ...ended, items: [{ state: 'done', outcome }] });
  expect(after('refused')?.type).toBe('fleetgc.node.pressure-unrelieved');
  expect(after('not-done')).toBeUndefined();
});

describe('after a command of a reclaim', () => {
  test('[J15, M21] the target is reached: nothing follows', async () => {
    const { events } = await reclaimed((node) => {
      const ids = addImages(node, ['a'], 100n);
      return imageRemoval(ids, { reclaim: reclaim({ target: { ...unreachable, atLeast: '950' } }) });
    });
    expect(events).toEqual([]);
  });

  test('[J14, J15] of containers: the images are looked at, with a time after the last removal', async () => {
    const { node, events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      addContainer(node, 'dead');
      return containerRemoval(['dead'], { reclaim: step({ step: 'containers' }) });
    });
    expect(events).toMatchObject([
      {
        type: 'fleetgc.node.reclaim-continues',
        reclaim: { id: 'reclaim-1', step: 'images', round: 1 },
      },
    ]);
    const journal = JSON.parse(node.state.files.get('journal') ?? '');
    expect(events[0]?.takenAt.sinceBootMs).toBeGreaterThan(journal.lastActions.container.at.sinceBootMs);
  });

  test('[J5, M8] of containers alone: pressure is unrelieved, and no image is looked at', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      addContainer(node, 'dead');
      const alone = step({ actions: ['containers'], step: 'containers' });
      return containerRemoval(['dead'], { reclaim: alone });
    });
    expect(events).toMatchObject([
      { type: 'fleetgc.node.pressure-unrelieved', reclaim: { actions: ['containers'] }, holders: [] },
    ]);
  });

  test('[J5] of images alone: rounds of images and nothing else', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return imageRemoval(addImages(node, ['a']), { reclaim: step({ actions: ['images'] }) });
    });
    expect(events).toMatchObject([{ reclaim: { actions: ['images'], step: 'images', round: 2 } }]);
  });

  test('of containers that removed nothing: the images are looked at all the same', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return containerRemoval(['gone'], { reclaim: step({ step: 'containers' }) });
    });
    expect(events).toMatchObject([{ reclaim: { step: 'images', round: 1 } }]);
  });

  test('[J14] of containers that failed at once: the fact is not as old as the attempt', async () => {
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
    expect(events).toMatchObject([
      { type: 'fleetgc.node.reclaim-continues', reclaim: { step: 'images', round: 5 } },
    ]);
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
        holders: [IN_USE],
      },
    ]);
  });

  test.each(['failed', 'refused', 'not-found'] as const)(
    '[D11, M17] of images that %s, all of them: the next round has others in their place',
    async (outcome) => {
      const { node, events } = await reclaimed((node) => {
        node.runtime.otherBytes = 100n;
        const command = imageRemoval(addImages(node, ['a']), { reclaim: step({ round: 1 }) });
        spoil[outcome](node);
        return command;
      });
      expect(Object.values(node.outcomes())).toMatchObject([{ outcome }]);
      expect(events).toMatchObject([
        { type: 'fleetgc.node.reclaim-continues', reclaim: { step: 'images', round: 2 } },
      ]);
    },
  );

  test('[M8] on a node that was paused meanwhile: pressure is unrelieved', async () => {
    const { events } = await reclaimed((node) => {
      const ids = addImages(node, ['a', 'b']);
      node.runtime.after = (call) => {
        if (call.startsWith('removeImage')) {
          node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
        }
      };
      return imageRemoval(ids, { reclaim: step({}) });
    });
    expect(events).toMatchObject([
      {
        type: 'fleetgc.node.pressure-unrelieved',
        holders: [IN_USE, { reason: 'held', objects: 1, bytes: 10 }],
      },
    ]);
  });

  test('outside any reclaim: nothing follows', async () => {
    const { events } = await reclaimed((node) => imageRemoval(addImages(node, ['a'])));
    expect(events).toEqual([]);
  });

  test('what follows leaves with the results, in their order', async () => {
    const { node } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      return imageRemoval(addImages(node, ['a']), { reclaim: step({}) });
    });
    expect(node.published.map(({ type }) => type)).toEqual([
      'fleetgc.node.object-result',
      'fleetgc.node.command-result',
      'fleetgc.node.reclaim-continues',
    ]);
  });
});

const paused = (): PolicyInForce => ({ kind: 'paused', pause: { reason: '' } });

describe('a command of a reclaim that is refused whole', () => {
  const left = (reason: string) => ({
    reason: reason === 'held' || reason === 'paused' ? 'held' : 'waiting',
    objects: 1,
    bytes: 10,
  });

  interface Refusal {
    readonly reason: string;
    readonly over?: Partial<ImageRemoval>;
    readonly prepare: (node: ExecutorNode) => void;
    /** Where it is refused at once there is no reading yet. */
    readonly availableNow: string | null;
  }
  const REFUSALS: readonly Refusal[] = [
    { reason: 'expired', prepare: ({ clock }) => clock.advance(60_000), availableNow: null },
    {
      reason: 'other-boot',
      over: { takenAt: instant({ bootId: 'another' }) },
      prepare: () => {},
      availableNow: null,
    },
    {
      reason: 'taken-in-the-future',
      over: { takenAt: instant({ sinceBootMs: instant().sinceBootMs + 60_000 }) },
      prepare: () => {},
      availableNow: null,
    },
    { reason: 'held', prepare: (node) => writeFileSync(node.localFile, 'hold: true'), availableNow: '890' },
    {
      reason: 'paused',
      prepare: (node) => {
        node.policy = paused;
      },
      availableNow: '890',
    },
  ];

  test.each(REFUSALS)('[M8] as $reason: pressure is unrelieved, said once', async (given) => {
    const node = executorNode();
    node.runtime.otherBytes = 100n;
    given.prepare(node);
    const command = imageRemoval(addImages(node, ['a']), { reclaim: step({}), ...given.over });
    const executor = node.start();
    expect(await executor.carryOut(command)).toMatchObject({ outcome: 'refused', reason: given.reason });
    await executor.receive(command);
    await executor.stop();
    expect(next(node)).toMatchObject([
      {
        type: 'fleetgc.node.pressure-unrelieved',
        availableNow: given.availableNow,
        holders: [IN_USE, left(given.reason)],
      },
    ]);
  });

  test('[M8] before its containers went: that is said too, without what image-gc has not looked at', async () => {
    const { events } = await reclaimed((node) => {
      node.runtime.otherBytes = 100n;
      addContainer(node, 'dead');
      node.policy = paused;
      return containerRemoval(['dead'], { reclaim: step({ step: 'containers' }) });
    });
    expect(events).toMatchObject([{ type: 'fleetgc.node.pressure-unrelieved', holders: [] }]);
  });

  test('with its target reached all the same: nothing follows', async () => {
    const { node, events } = await reclaimed((node) => {
      node.policy = paused;
      return imageRemoval(addImages(node, ['a']), { reclaim: reclaim() });
    });
    expect(node.result()).toMatchObject({ outcome: 'refused', reason: 'paused' });
    expect(events).toEqual([]);
  });

  test('for another installation of the node: nothing follows', async () => {
    const { events } = await reclaimed((node) =>
      imageRemoval(addImages(node, ['a']), { reclaim: step({}), nodeInstance: 'another' }),
    );
    expect(events).toEqual([]);
  });

  describe('as superseded', () => {
    async function overtakenBy(first: Partial<ImageRemoval>, round = 1) {
      const node = executorNode();
      node.runtime.otherBytes = 100n;
      const [a = '', b = ''] = addImages(node, ['a', 'b']);
      const executor = node.start();
      await executor.carryOut(imageRemoval([a], { id: 'first', ...first }));
      const before = next(node).length;
      const late = imageRemoval([b], { id: 'late', reclaim: step({ round }) });
      expect(await executor.carryOut(late)).toMatchObject({ outcome: 'refused', reason: 'superseded' });
      await executor.stop();
      return next(node).slice(before);
    }

    test('by a command outside the reclaim: the next round looks again', async () => {
      expect(await overtakenBy({})).toMatchObject([
        { type: 'fleetgc.node.reclaim-continues', reclaim: { step: 'images', round: 2 } },
      ]);
    });

    test('[M8] by a command outside the reclaim in the last round: pressure is unrelieved', async () => {
      expect(await overtakenBy({}, 5)).toMatchObject([
        { type: 'fleetgc.node.pressure-unrelieved', holders: [IN_USE, left('superseded')] },
      ]);
    });

    test('by a command of the same reclaim: that one has said what follows', async () => {
      expect(await overtakenBy({ reclaim: step({}) })).toEqual([]);
    });
  });

  describe('for want of room', () => {
    async function crowdedOut(others: Partial<ImageRemoval>, inHand: Partial<ImageRemoval> = {}) {
      const node = executorNode();
      const executor = node.start();
      // The first is in hand and does not end, so the others wait.
      const { promise, resolve } = Promise.withResolvers<void>();
      node.runtime.before = (call) => (call.startsWith('removeImage') ? promise : undefined);
      await executor.receive(imageRemoval(addImages(node, ['a']), { id: 'in hand', ...inHand }));
      await until('the first removal', () => node.runtime.calls[0]);
      await executor.receive(imageRemoval(['b'], { id: 'oldest', reclaim: step({}) }));
      for (let count = 0; count < MAX_WAITING; count++)
        await executor.receive(imageRemoval(['b'], { id: `other-${count}`, ...others }));
      await until('the refusal', () => node.result('oldest'));
      await until('all that follows', () => unpublished(node).length === 0 || undefined);
      const events = next(node);
      resolve();
      return events;
    }

    test('the next round looks again', async () => {
      expect(await crowdedOut({})).toMatchObject([
        { type: 'fleetgc.node.reclaim-continues', reclaim: { round: 2 } },
      ]);
    });

    test('nothing follows where another command of the reclaim waits', async () => {
      expect(await crowdedOut({ reclaim: step({ round: 2 }) })).toEqual([]);
    });

    test('nothing follows where another command of the reclaim is in hand', async () => {
      expect(await crowdedOut({}, { reclaim: step({}) })).toEqual([]);
    });
  });
});

test('[M8] a command that the executor could not bring to its end: pressure is unrelieved', async () => {
  const { node, events } = await reclaimed((node) => {
    node.runtime.otherBytes = 100n;
    node.runtime.before = (call) => {
      if (call === 'statfs') throw new Error('nobody foresaw this');
    };
    return imageRemoval(addImages(node, ['a']), { reclaim: step({}) });
  });
  expect(node.result()).toMatchObject({ outcome: 'done', notDone: 1 });
  expect(events).toMatchObject([
    {
      type: 'fleetgc.node.pressure-unrelieved',
      availableNow: null,
      holders: [IN_USE, { reason: 'waiting' }],
    },
  ]);
});
