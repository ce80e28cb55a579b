import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { MINUTE } from '../../../fixtures/time.ts';
import { addContainer, addImages, executorNode, until } from './support/executor-node.ts';

const toTargetByContainers = (atLeast: string) => ({ ...toTarget(atLeast), step: 'containers' }) as const;

describe('at the end of a command', () => {
  test('an action that the clock does not come to is waited for a tenth of a second, and no longer', async () => {
    const node = executorNode();
    const { bootId, sinceBootMs, wallTimeMs } = node.clock.now();
    const at = { bootId, sinceBootMs: sinceBootMs + MINUTE, wallTimeMs };
    const lastActions = { ...EMPTY_JOURNAL.lastActions, image: { at, commandId: 'another' } };
    node.state.files.set('journal', JSON.stringify({ ...EMPTY_JOURNAL, lastActions }));
    await node.start().carryOut(containerRemoval(['gone']));
    expect(node.slept).toEqual(Array(10).fill(10));
  });

  test('[M21] nothing is waited for where no container went', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 500n;
    await node.start().carryOut(containerRemoval(['gone'], { reclaim: toTargetByContainers('900') }));
    expect(node.slept).toEqual([]);
  });

  test('[M21] the space of containers that went is waited for, two seconds', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 500n;
    addContainer(node, 'dead');
    await node.start().carryOut(containerRemoval(['dead'], { reclaim: toTargetByContainers('900') }));
    expect(node.slept.filter((ms) => ms === 50)).toHaveLength(40);
  });

  test('the objects that are done wait for no stop any more', async () => {
    const node = executorNode();
    const ids = addImages(node, ['a', 'b', 'c', 'd'], 100n);
    const listeners: number[] = [];
    node.runtime.after = (call) => {
      const signal = node.sleepSignals.find((one) => one !== undefined);
      if (call.startsWith('removeImage') && signal !== undefined)
        listeners.push(getEventListeners(signal, 'abort').length);
    };
    await node.start().carryOut(imageRemoval(ids, { reclaim: toTarget('990') }));
    expect(listeners.length).toBeGreaterThan(1);
    expect(new Set(listeners).size).toBe(1);
  });
});

describe('while a command goes on', () => {
  /** Two images; once the first went, 200 more bytes are free and the plan is made anew on what `see` makes of the inventory. */
  async function afterTheFirst(see: (seen: CompleteInventory) => CompleteInventory) {
    const node = executorNode();
    node.runtime.otherBytes = 500n;
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    node.runtime.after = (call) => {
      if (call !== `removeImage ${a}`) return;
      node.clock.advance(10_001);
      node.runtime.otherBytes = 300n;
      const { takeInventory } = node;
      node.takeInventory = async (...args) => {
        const seen = await takeInventory(...args);
        return seen.status === 'complete' ? see(seen) : seen;
      };
    };
    await node.start().carryOut(imageRemoval([a, b], { reclaim: toTarget('600') }));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
    return node.outcomes()[b];
  }

  test('[M7] the last plan says which target counts', async () => {
    const seen = await afterTheFirst((inventory) => ({ ...inventory, reclaim: toTarget('700') }));
    expect(seen).toMatchObject({ outcome: 'removed' });
  });

  test('[M7] the last target tells that it is reached where no plan has one any more', async () => {
    const seen = await afterTheFirst((inventory) => ({
      ...inventory,
      filesystems: filesystems({ availableBytes: '1000' }),
    }));
    expect(seen).toMatchObject({ outcome: 'not-needed' });
  });

  test('an executor that is stopped makes no plan anew for what it leaves', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const executor = node.start();
    let plans = 0;
    const { takeInventory } = node;
    node.takeInventory = (...args) => {
      plans += 1;
      return takeInventory(...args);
    };
    let stopped: Promise<void> | undefined;
    node.runtime.after = (call) => {
      if (call !== `removeImage ${a}`) return;
      node.clock.advance(10_001);
      stopped = executor.stop();
    };
    await executor.receive(imageRemoval([a, b]));
    await until('the stop', () => stopped);
    await stopped;
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' }, [b]: { outcome: 'not-done' } });
    expect(plans).toBe(1);
  });

  test.each([
    { ageMs: 10_000, plans: 1 },
    { ageMs: 10_001, plans: 2 },
  ])('a plan of $ageMs ms makes $plans of it', async ({ ageMs, plans }) => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    let made = 0;
    const { takeInventory } = node;
    node.takeInventory = (...args) => {
      made += 1;
      return takeInventory(...args);
    };
    node.runtime.after = (call) => {
      if (call === `removeImage ${a}`) node.clock.advance(ageMs);
    };
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.runtime.gone).toEqual([a, b]);
    expect(made).toBe(plans);
  });
});
