import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { FleetEvent } from '../../../../schemas/events/topics.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { runs } from '../../../support/property-runs.ts';
import {
  addContainer,
  addImages,
  addSandbox,
  type ExecutorNode,
  executorNode,
  until,
} from './support/executor-node.ts';
import { diskFull } from './support/memory-state.ts';

const TO_950 = reclaim({ target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '950' } });

/** Kills the process at its n-th step: a write to the journal or a call that changes the runtime, before or after it. */
function killAt(node: ExecutorNode, step: number, kill: () => void): void {
  let steps = 0;
  const died = (): boolean => {
    if (steps++ !== step) return false;
    kill();
    return true;
  };
  const ifChanging = (call: string): void => {
    if (/^(remove|stop)/.test(call)) died();
  };
  node.state.beforeWrite = () => (died() ? 'lost' : undefined);
  node.state.afterWrite = () => void died();
  node.runtime.before = ifChanging;
  node.runtime.after = ifChanging;
}

function surviveAll(node: ExecutorNode): void {
  node.state.beforeWrite = () => undefined;
  node.state.afterWrite = () => undefined;
  node.runtime.before = () => undefined;
  node.runtime.after = () => undefined;
}

/** Runs processes, each dying at its step, and then one that lives, until the command has its result. */
async function survive(node: ExecutorNode, command: Command, deaths: readonly number[]): Promise<void> {
  for (const step of deaths) {
    const process = node.start();
    let dead = false;
    killAt(node, step, () => {
      process.kill();
      dead = true;
    });
    // The consumer reads its orders again from before they can have expired.
    await process.receive(command);
    await until('death or the result', () => (dead || node.result(command.id) ? true : undefined));
    process.kill();
    surviveAll(node);
    node.clock.advance(100);
  }
  const last = node.start();
  await last.receive(command);
  await until('the result', () => node.result(command.id));
  await last.stop();
}

const resultsOf = (node: ExecutorNode, type: FleetEvent['type']): readonly FleetEvent[] =>
  node.published.filter((event) => event.type === type);

/** Repetitions are equal, and there is one of each. */
function distinct(events: readonly FleetEvent[]): readonly FleetEvent[] {
  const byId = new Map<string, FleetEvent>();
  for (const event of events) {
    expect(byId.get(event.id) ?? event).toEqual(event);
    byId.set(event.id, event);
  }
  return [...byId.values()];
}

const scenarios: Readonly<Record<string, (node: ExecutorNode) => Command>> = {
  images: (node) => imageRemoval(addImages(node, ['a', 'b', 'c'])),
  'images of a reclaim': (node) => imageRemoval(addImages(node, ['a', 'b', 'c'], 30n), { reclaim: TO_950 }),
  containers: (node) => {
    addContainer(node, 'a', { sandboxId: 'sandbox-1' });
    addContainer(node, 'b', { state: 'unknown' });
    addSandbox(node, 'sandbox-1');
    return containerRemoval(['a', 'b', 'sandbox-1', 'gone']);
  },
};

describe('an executor that is killed at any moment, any number of times', () => {
  test.each(Object.keys(scenarios))(
    '[M6, K8] removes each object at most once, and gives each exactly one result: %s',
    async (name) => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat({ max: 40 }), { maxLength: 3 }), async (deaths) => {
          const node = executorNode();
          const command = scenarios[name]?.(node) ?? imageRemoval(['never']);
          await survive(node, command, deaths);
          expect(new Set(node.runtime.gone).size).toBe(node.runtime.gone.length);
          const named = new Set(command.items.map(({ id }) => id));
          expect(node.runtime.gone.every((id) => named.has(id))).toBe(true);
          expect(distinct(resultsOf(node, 'fleetgc.node.object-result'))).toHaveLength(command.items.length);
          expect(distinct(resultsOf(node, 'fleetgc.node.command-result'))).toHaveLength(1);
          for (const id of node.runtime.gone)
            expect(node.outcomes()[id]).toMatchObject({ outcome: 'removed' });
        }),
        runs(40),
      );
    },
  );

  test('every single step of a command of images', async () => {
    for (let step = 0; step < 24; step++) {
      const node = executorNode();
      const command = imageRemoval(addImages(node, ['a', 'b']));
      await survive(node, command, [step]);
      expect(node.runtime.gone.toSorted()).toEqual(command.items.map(({ id }) => id).toSorted());
      expect(node.result()).toMatchObject({ removed: 2 });
    }
  });
});

/** Until what the log holds tells of the object: what became of it, or that it was about to be removed. */
const hasTrace = (node: ExecutorNode, id: string): boolean =>
  node.published.some(
    (event) =>
      (event.type === 'fleetgc.node.removal-intent' && event.object.id === id) ||
      (event.type === 'fleetgc.node.object-result' &&
        event.object.id === id &&
        ['removed', 'failed'].includes(event.result.outcome)),
  );

type Disk = 'takes the journal' | 'takes nothing' | 'takes nothing after the command came';

/** The same as `killAt`, on a disk as it is said, and also before what is published is on the log. */
function killOn(node: ExecutorNode, disk: Disk, step: number, kill: () => void): void {
  killAt(node, step, kill);
  const { beforeWrite } = node.state;
  const { before } = node.runtime;
  let hasCome = false;
  node.state.beforeWrite = (name) => {
    if (disk === 'takes nothing' || (disk === 'takes nothing after the command came' && hasCome))
      return diskFull();
    hasCome = true;
    return beforeWrite(name);
  };
  // A publish counts as a step as a call does.
  node.beforePublish = () => void before('remove');
}

describe('no deed without a trace, whatever happens when', () => {
  const aftermaths: Readonly<Record<string, (node: ExecutorNode) => void>> = {
    'it starts again at once': () => undefined,
    'the command is over': (node) => node.clock.advance(60_000),
    'the node was rebooted': (node) => node.clock.reboot(BOOT_B, 10_000),
    'the node was paused': (node) => {
      node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
    },
    'its journal is lost': (node) => node.state.files.set('journal', '{}'),
  };
  const disks: readonly Disk[] = [
    'takes the journal',
    'takes nothing',
    'takes nothing after the command came',
  ];
  const cases = disks.flatMap((disk) =>
    Object.keys(aftermaths)
      // With the journal goes what it alone knew: that the command has no result is what tells of it.
      .filter((after) => disk !== 'takes the journal' || after !== 'its journal is lost')
      .map((after) => ({ disk, after })),
  );

  test.each(cases)('killed at every step, where the disk $disk and $after', async ({ disk, after }) => {
    let hasEnded = false;
    for (let step = 0; !hasEnded; step++) {
      const node = executorNode();
      const command = imageRemoval(addImages(node, ['a', 'b']));
      const first = node.start();
      let dead = false;
      killOn(node, disk, step, () => {
        first.kill();
        dead = true;
      });
      await first.receive(command);
      await until('death or the result', () => (dead || node.result(command.id) ? true : undefined));
      hasEnded = !dead;
      first.kill();
      surviveAll(node);
      node.beforePublish = () => undefined;
      if (disk !== 'takes the journal') node.state.beforeWrite = diskFull;
      node.clock.advance(100);
      aftermaths[after]?.(node);
      const second = node.start();
      await second.receive(command);
      await until('the result', () => node.result(command.id));
      await second.stop();
      const untold = node.runtime.gone.filter((id) => !hasTrace(node, id));
      expect({ step, untold }).toEqual({ step, untold: [] });
      expect(new Set(node.runtime.gone).size).toBe(node.runtime.gone.length);
    }
  });
});

describe('an executor that was killed between removal and result', () => {
  async function killedInRemoval(meanwhile: (node: ExecutorNode) => void) {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const first = node.start();
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) first.kill();
    };
    await first.receive(imageRemoval([a, b]));
    await until('the removal', () => node.runtime.gone[0]);
    meanwhile(node);
    const second = node.start();
    await until('the result', () => node.result());
    await second.stop();
    return { node, a, b };
  }

  test('tells of the removal, and goes on with the rest', async () => {
    const { node, a, b } = await killedInRemoval((node) => node.clock.advance(5_000));
    expect(node.runtime.calls).toEqual([`removeImage ${a}`, `removeImage ${b}`]);
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed', measured: null, durationMs: 5_000 },
      [b]: { outcome: 'removed' },
    });
    expect(node.result()).toMatchObject({ removed: 2, measured: { beforeBytes: '980', afterBytes: '1000' } });
  });

  test('tells of a removal whose space it waited for, though the image was pulled again by then', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const first = node.start();
    let isMeasuring = false;
    node.runtime.filesystemReadings = () => {
      if (node.runtime.gone.length > 0) {
        isMeasuring = true;
        first.kill();
      }
      return filesystems({});
    };
    await first.receive(imageRemoval([a]));
    await until('the wait for what it freed', () => isMeasuring || undefined);
    addImages(node, ['a']);
    node.clock.reboot(BOOT_B, 10_000);
    const second = node.start();
    await until('the result', () => node.result());
    await second.stop();
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed', measured: null });
    expect(node.result()).toMatchObject({ removed: 1, refused: 0 });
  });

  test('[K8] says that a removal may have happened while the runtime is away: what it cannot list may be there, or gone', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const first = node.start();
    node.runtime.before = (call) => {
      if (call !== `removeImage ${a}`) return undefined;
      first.kill();
      return new Promise(() => undefined);
    };
    await first.receive(imageRemoval([a]));
    await until('the removal in hand', () => node.runtime.calls[0]);
    node.runtime.before = (call) => {
      if (call.startsWith('list')) throw new FleetGcError('RUNTIME_MISSING', 'the runtime is away');
      return undefined;
    };
    const second = node.start();
    await until('the result', () => node.result());
    await second.stop();
    expect(node.runtime.images.has(a)).toBe(true);
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'deadline-exceeded' });
    expect(node.result()).toMatchObject({ removed: 0, failed: 1 });
  });

  async function killedBeforeRemoval(
    meanwhile: (node: ExecutorNode, image: string) => void,
    reclaimed: Command['reclaim'] = null,
  ) {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a'], 100n);
    const first = node.start();
    // The runtime is asked, and still at it.
    const removal = Promise.withResolvers<void>();
    node.runtime.before = (call) => {
      if (call !== `removeImage ${a}`) return undefined;
      first.kill();
      return removal.promise;
    };
    await first.receive(imageRemoval([a], { reclaim: reclaimed }));
    await until('the removal in hand', () => node.runtime.calls[0]);
    node.runtime.before = () => undefined;
    meanwhile(node, a);
    const second = node.start();
    await until('the result', () => node.result());
    await second.stop();
    return { node, a };
  }

  test.each<[string, (node: ExecutorNode) => void]>([
    ['the command is over', (node) => node.clock.advance(60_000)],
    ['the node was rebooted', (node) => node.clock.reboot(BOOT_B, 10_000)],
    [
      'the node was paused',
      (node) => {
        node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
      },
    ],
  ])(
    'does not say that nothing was done where %s and the runtime may still be at it',
    async (_, meanwhile) => {
      const { node, a } = await killedBeforeRemoval(meanwhile);
      expect(node.runtime.images.has(a)).toBe(true);
      expect(node.outcomes()[a]).toMatchObject({
        outcome: 'failed',
        reason: 'deadline-exceeded',
        message: expect.stringContaining('may do so yet'),
      });
      expect(node.result()).toMatchObject({ removed: 0, refused: 0, failed: 1 });
    },
  );

  test('does not say that it was not needed where the target is reached and the runtime may still be at it', async () => {
    const relieved = (node: ExecutorNode): void => {
      node.runtime.filesystemReadings = () => filesystems({ availableBytes: '950' });
    };
    const { node, a } = await killedBeforeRemoval(relieved, TO_950);
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'failed', reason: 'deadline-exceeded' });
    expect(node.result()).toMatchObject({ failed: 1, notNeeded: 0, targetReached: true });
  });

  test('tells of the removal that ends while it is looked at again', async () => {
    const { node, a } = await killedBeforeRemoval((node, image) => {
      let looks = 0;
      node.runtime.before = (call) => {
        if (call === 'listImages' && ++looks === 3) node.runtime.images.delete(image);
      };
    });
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
    expect(node.result()).toMatchObject({ removed: 1, notFound: 0 });
  });

  test('does not go on when the command is over by then', async () => {
    const { node, a, b } = await killedInRemoval((node) => node.clock.advance(60_000));
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed' },
      [b]: { outcome: 'refused', reason: 'expired' },
    });
  });

  test('does not go on after a reboot', async () => {
    const { node, a, b } = await killedInRemoval((node) => node.clock.reboot(BOOT_B, 10_000));
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed', durationMs: 0 },
      [b]: { outcome: 'refused', reason: 'other-boot' },
    });
  });

  test('does not go on when the node was paused meanwhile', async () => {
    const { node, b } = await killedInRemoval((node) => {
      node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
    });
    expect(node.outcomes()[b]).toMatchObject({ reason: 'paused' });
  });

  test('counts the removal as an action: older commands are overtaken', async () => {
    let takenAt = instant();
    const { node } = await killedInRemoval((node) => {
      takenAt = node.clock.now();
    });
    const late = imageRemoval(addImages(node, ['c']), { id: 'late', takenAt });
    expect(await node.start().carryOut(late)).toMatchObject({ reason: 'superseded' });
  });
});

test('[M13] an executor that was killed waits for inodes as they were before the first removal', async () => {
  const node = executorNode();
  for (const id of ['a', 'b']) addContainer(node, id);
  const freeAtMs = node.clock.now().sinceBootMs + 1_500;
  node.runtime.filesystemReadings = () =>
    filesystems({ inodesFree: node.clock.now().sinceBootMs < freeAtMs ? '800' : '950' });
  const target = { filesystem: 'containerfs', resource: 'inodesFree', atLeast: '900' } as const;
  const first = node.start();
  node.runtime.after = (call) => {
    if (call === 'removeContainer a') first.kill();
  };
  await first.receive(containerRemoval(['a', 'b'], { reclaim: reclaim({ step: 'containers', target }) }));
  await until('the removal', () => node.runtime.gone[0]);
  node.start();
  expect(await until('the result', () => node.result())).toMatchObject({ removed: 2, targetReached: true });
});

describe('an executor that is told to stop', () => {
  test('finishes the removal in hand, reports the rest as not done, and ends', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const { promise, resolve } = Promise.withResolvers<void>();
    node.runtime.before = (call) => (call === `removeImage ${a}` ? promise : undefined);
    const executor = node.start();
    await executor.receive(imageRemoval([a, b]));
    await until('the removal in hand', () => node.runtime.calls[0]);
    const stopped = executor.stop();
    resolve();
    await stopped;
    expect(node.runtime.gone).toEqual([a]);
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' }, [b]: { outcome: 'not-done' } });
    expect(node.result()).toMatchObject({ removed: 1, notDone: 1 });
  });

  test('does not wait for a runtime that does not answer its look', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    let looked = false;
    node.runtime.before = (call) => {
      if (call !== 'listImages') return undefined;
      looked = true;
      return new Promise(() => undefined);
    };
    const executor = node.start();
    await executor.receive(imageRemoval([a]));
    await until('the look', () => (looked ? true : undefined));
    await executor.stop();
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'not-done' });
  });

  test('leaves commands it did not begin in the journal, for the next start', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const { promise, resolve } = Promise.withResolvers<void>();
    node.runtime.before = (call) => (call === `removeImage ${a}` ? promise : undefined);
    const first = node.start();
    await first.receive(imageRemoval([a], { id: 'first' }));
    await until('the removal in hand', () => node.runtime.calls[0]);
    await first.receive(containerRemoval(['gone'], { id: 'second' }));
    const stopped = first.stop();
    resolve();
    await stopped;
    expect(node.result('second')).toBeUndefined();
    expect(node.runtime.images.has(b)).toBe(true);
    node.start();
    expect(await until('the second', () => node.result('second'))).toMatchObject({ notFound: 1 });
  });

  test('leaves no wait behind, which would keep its process', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    await executor.carryOut(imageRemoval([a]));
    const begun = node.sleepSignals.length;
    await executor.stop();
    const waits = node.sleepSignals.slice(begun);
    expect(waits.length).toBeGreaterThan(0);
    expect(waits.filter((signal) => !signal?.aborted)).toEqual([]);
  });
});
