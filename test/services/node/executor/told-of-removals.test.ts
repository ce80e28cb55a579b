import { describe, expect, test } from 'vitest';
import { NEVER } from '../../../../lab/sim/fleet-run/node-process.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { JournalState } from '../../../../services/node/executor/journal.ts';
import { Remover } from '../../../../services/node/executor/remove.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { addContainer, addImages, type ExecutorNode, executorNode, until } from './support/executor-node.ts';
import { fakeRuntime } from './support/fake-runtime.ts';
import { alwaysFresh } from './support/looked.ts';

const journalOf = ({ state }: ExecutorNode) =>
  JournalState.parse(JSON.parse(state.files.get('journal') ?? ''));
const failing = (node: ExecutorNode, code: 'RUNTIME_FAILED' | 'RUNTIME_NOT_FOUND', prefix: string): void => {
  node.runtime.before = (call) => {
    if (call.startsWith(prefix)) throw new FleetGcError(code, 'as the test wants it');
  };
};

describe('what the node did last', () => {
  test('is the removal that it asked for, also of an image that turned out to be gone', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    failing(node, 'RUNTIME_NOT_FOUND', 'removeImage');
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'not-found' });
    expect(journalOf(node).lastActions.image).toMatchObject({ commandId: 'command-1' });
  });

  test('is not what was gone before it asked', async () => {
    const node = executorNode();
    await node.start().carryOut(imageRemoval(['gone']));
    expect(node.outcomes().gone).toMatchObject({ outcome: 'not-found' });
    expect(journalOf(node).lastActions.image).toBeNull();
  });
});

describe('what follows from a command is later than all that the node did', () => {
  const unreached = toTarget('1000');
  const told = ({ published }: ExecutorNode) =>
    published.find(({ type }) => type === 'fleetgc.node.reclaim-continues');

  test('also than its last removal of another kind', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 950n;
    const executor = node.start();
    await executor.carryOut(imageRemoval(addImages(node, ['a']), { id: 'images' }));
    node.clock.advance(1_000);
    addContainer(node, 'dead');
    await executor.carryOut(
      containerRemoval(['dead'], {
        reclaim: { ...unreached, step: 'containers' },
        takenAt: node.clock.now(),
      }),
    );
    const { container } = journalOf(node).lastActions;
    const event = told(node);
    if (container === null || event === undefined || !('node' in event && 'takenAt' in event))
      throw new Error('both are there');
    expect(event.takenAt.sinceBootMs).toBeGreaterThan(container.at.sinceBootMs);
  });

  test('and waits for nothing that was done before a reboot', async () => {
    const node = executorNode();
    const first = node.start();
    await first.carryOut(imageRemoval(addImages(node, ['a']), { id: 'images' }));
    await first.stop();
    node.clock.reboot(BOOT_B, 1_000);
    node.slept.length = 0;
    await node.start().carryOut(imageRemoval(['gone'], { id: 'next', takenAt: node.clock.now() }));
    expect(node.slept).toEqual([]);
  });
});

describe('a removal that failed', () => {
  test('is never kept as one that was done', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    failing(node, 'RUNTIME_FAILED', 'removeImage');
    const kept: string[] = [];
    node.state.afterWrite = (name) => {
      if (name === 'journal') kept.push(node.state.files.get('journal') ?? '');
    };
    await node.start().carryOut(imageRemoval([a]));
    const states = kept.flatMap((text) =>
      JournalState.parse(JSON.parse(text)).entries.flatMap(({ items }) => items.map(({ state }) => state)),
    );
    expect(states).toContain('in-hand');
    expect(states).not.toContain('removed');
  });

  test('[M7] is not waited for', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    failing(node, 'RUNTIME_FAILED', 'removeImage');
    await node.start().carryOut(imageRemoval([a], { reclaim: toTarget('999') }));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed' });
    expect(node.slept.filter((ms) => ms === 50)).toEqual([]);
  });

  test('[G19] of a container without logs tells of none that went', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { logPath: `${node.podLogsDir}/default_web_pod-1/gone/0.log` });
    failing(node, 'RUNTIME_FAILED', 'removeContainer');
    await node.start().carryOut(containerRemoval(['dead']));
    expect(node.outcomes().dead).toMatchObject({ outcome: 'failed' });
    expect(node.outcomes().dead).not.toHaveProperty('alreadyDone');
  });
});

test('[M41] what somebody else made is left out for a while, as only people can end that', async () => {
  const node = executorNode();
  const { takeInventory } = node;
  addContainer(node, 'dead');
  node.takeInventory = async (asked, actions) => {
    const seen = await takeInventory(asked, actions);
    addContainer(node, 'dead', { labels: {} });
    return seen;
  };
  await node.start().carryOut(containerRemoval(['dead']));
  expect(node.outcomes().dead).toMatchObject({ outcome: 'refused', reason: 'not-ours' });
  expect(node.state.files.get('backoff')).toContain('dead');
});

test('how long a removal took is counted in seconds', async () => {
  const node = executorNode();
  const [a = ''] = addImages(node, ['a']);
  node.runtime.after = (call) => {
    if (call.startsWith('removeImage')) node.clock.advance(3_000);
  };
  const executor = node.start();
  await executor.carryOut(imageRemoval([a]));
  expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed', durationMs: 3_000 });
  expect(await executor.metrics.text()).toMatch(/executor_removal_seconds_sum\{kind="image"\} 3\n/);
});

test.each([
  { written: 'x30', seconds: 2 },
  { written: '30', seconds: 30 },
  { written: '30x', seconds: 2 },
])('[G15] a grace period of %j is one of $seconds s', async ({ written, seconds }) => {
  const node = executorNode();
  addContainer(node, 'dead', {
    state: 'unknown',
    annotations: { 'io.kubernetes.pod.terminationGracePeriod': written },
  });
  await node.start().carryOut(containerRemoval(['dead']));
  expect(node.runtime.calls).toContain(`stopContainer(${seconds}) dead`);
});

test('[I3, I4] names that name nothing of a pod are not touched', async () => {
  const opened: string[] = [];
  const roots = {
    podLogsDir: '/pods',
    containerLogsDir: '/containers',
    openDirectory: async (path: string) => {
      opened.push(path);
      throw new Error('it is not opened');
    },
  };
  const remover = new Remover(
    fakeRuntime(),
    roots,
    async () => ({ ok: false, message: 'nobody asks' }),
    async () => undefined,
  );
  const unsafe = { outcome: 'refused', reason: 'unsafe-log-path' };
  for (const object of [
    { kind: 'pod-log-directory', name: 'a_b_', podUid: '' },
    { kind: 'log-symlink', name: 'web_default_app-0123456789' },
  ] as const)
    expect(await remover.remove(object, alwaysFresh())).toMatchObject(unsafe);
  expect(opened).toEqual([]);
});

describe('an executor that is stopped', () => {
  test('while it still looks leaves the rest undone, and says so', async () => {
    const node = executorNode();
    const ids = addImages(node, ['a', 'b']);
    const executor = node.start();
    let looks = 0;
    const looking = Promise.withResolvers<void>();
    node.runtime.before = (call) => {
      if (call !== 'status' || looks++ > 0) return undefined;
      looking.resolve();
      return Promise.withResolvers<never>().promise;
    };
    await executor.receive(imageRemoval(ids));
    await looking.promise;
    await executor.stop();
    expect(Object.values(node.outcomes())).toEqual([
      { outcome: 'not-done', message: 'the executor was stopped' },
      { outcome: 'not-done', message: 'the executor was stopped' },
    ]);
    expect(node.runtime.calls).toEqual([]);
  });
});

describe('a process that goes on with a command', () => {
  /** The first process dies in the removal of the image `a`, which has no effect. */
  async function died(
    prepare: (node: ExecutorNode) => void = () => undefined,
    over: Parameters<typeof imageRemoval>[1] = {},
  ) {
    const node = executorNode();
    prepare(node);
    const [a = ''] = addImages(node, ['a']);
    const first = node.start();
    let hasDied = false;
    node.runtime.before = (call) => {
      if (call !== `removeImage ${a}`) return undefined;
      first.kill();
      hasDied = true;
      return NEVER;
    };
    await first.receive(imageRemoval([a], over));
    await until('its death', () => hasDied || undefined);
    node.runtime.before = () => undefined;
    return { node, a };
  }

  test('leaves alone what is not to go by now, and tells that it may go all the same', async () => {
    const { node, a } = await died();
    for (const [id, image] of node.runtime.images) node.runtime.images.set(id, { ...image, pinned: true });
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: expect.stringContaining('it is left alone now (the runtime has the image pinned)'),
    });
  });

  test('leaves alone what its target does not need any more, which may go all the same', async () => {
    const over = { reclaim: toTarget('980') };
    const { node, a } = await died(({ runtime }) => {
      runtime.otherBytes = 900n;
    }, over);
    node.runtime.otherBytes = 0n;
    await node.start().carryOut(imageRemoval([a], over));
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: expect.stringContaining('it is left alone now (the target is reached, as measured)'),
    });
    expect(node.runtime.images.has(a)).toBe(true);
  });

  test('that is stopped before it has looked tells that what the one before was at may go all the same', async () => {
    const { node, a } = await died();
    const looking = Promise.withResolvers<void>();
    let looks = 0;
    // The first reading tells whether the image is there still.
    node.runtime.before = (call) => {
      if (call !== 'status' || ++looks === 1) return undefined;
      looking.resolve();
      return NEVER;
    };
    const second = node.start();
    await second.receive(imageRemoval([a]));
    await looking.promise;
    await second.stop();
    expect(node.outcomes()[a]).toMatchObject({
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: expect.stringContaining('it is left alone now (the executor was stopped)'),
    });
  });

  test.each([
    { name: 'could not be read', over: { availableBytes: null } },
    { name: 'does not tell its inodes', over: { inodesFree: null } },
  ])('does so also where the disk $name at its beginning', async ({ over }) => {
    const { node, a } = await died(({ runtime }) => {
      runtime.filesystemReadings = (available) => filesystems({ availableBytes: String(available), ...over });
    });
    node.runtime.filesystemReadings = (available) => filesystems({ availableBytes: String(available) });
    const result = await node.start().carryOut(imageRemoval([a]));
    expect(result).toMatchObject({
      outcome: 'done',
      removed: 1,
      measured: 'availableBytes' in over ? null : { beforeBytes: '990', afterBytes: '1000' },
    });
  });

  test('takes an image that came back for one that went', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const first = node.start();
    let hasDied = false;
    node.state.afterWrite = () => {
      if (journalOf(node).entries[0]?.items[0]?.state !== 'removed') return;
      first.kill();
      hasDied = true;
    };
    await first.receive(imageRemoval([a]));
    await until('its death', () => hasDied || undefined);
    node.state.afterWrite = () => undefined;
    addImages(node, ['a']);
    await node.start().carryOut(imageRemoval([a]));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed', measured: null });
    expect(node.runtime.images.has(a)).toBe(true);
  });
});
