import { describe, expect, test } from 'vitest';
import type { Bucket } from '../../../../schemas/events/disk-stats.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { ownPlan } from '../../../../services/node/executor/own-plan.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import {
  container,
  image,
  incompleteInventory,
  inventory,
  sandbox,
  tooLargeInventory,
} from '../../../fixtures/inventory.ts';
import { policyRecord } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE, nsAgo } from '../../../fixtures/time.ts';

test('a refusal names the rule of the object itself, whatever else lies at its position', async () => {
  const own = inventory({
    containers: [container('c', { state: 'running' })],
    sandboxes: [sandbox('sandbox-1', { state: 'ready' })],
  });
  const command = containerRemoval(['c', 'sandbox-1']);
  const plan = await ownPlan(command, policyRecord().policy, {
    takeInventory: async () => own,
    diskHistory: () => NO_DISK_HISTORY,
    lastActions: () => [],
  });
  const messages = command.items.map((item) => {
    const own = plan.itemOf(item);
    return `${item.kind} ${'reason' in own ? own.message : 'goes'}`;
  });
  expect(messages).toEqual([
    expect.stringMatching(/^container this node keeps it now by rule G3,/),
    expect.stringMatching(/^sandbox this node keeps it now by rule H1,/),
  ]);
});

describe('what this node decides itself', () => {
  const planFor = (command: Parameters<typeof ownPlan>[0], own: Inventory, settings: Partial<Policy> = {}) =>
    ownPlan(command, policyRecord(settings).policy, {
      takeInventory: async () => own,
      diskHistory: () => NO_DISK_HISTORY,
      lastActions: () => [],
    });
  const itemsOf = async (...args: Parameters<typeof planFor>) => {
    const plan = await planFor(...args);
    return args[0].items.map((item) => {
      const own = plan.itemOf(item);
      return 'reason' in own ? `${item.id} ${own.reason}: ${own.message}` : `${item.id} goes by ${own.rule}`;
    });
  };
  const deadOf = (id: string, agoMs: number) =>
    container(id, { attempt: 10 - agoMs / HOUR, createdAtNs: nsAgo(agoMs), finishedAtNs: nsAgo(agoMs) });
  const two = inventory({ containers: [deadOf('older', 2 * HOUR), deadOf('newer', HOUR)] });
  const patient = { minimumContainerTTLMs: 24 * HOUR };

  test('[G23] a container within its minimum age goes that its death alone lets go, since this node knows no time of its death', async () => {
    expect(await itemsOf(containerRemoval(['older', 'newer']), two, patient)).toEqual([
      'older goes by G23',
      expect.stringMatching(
        /^newer kept-by-own-plan: this node keeps it now by rule M26, as it decides itself: /,
      ),
    ]);
  });

  test('[G23] not where the others of its kind run', async () => {
    const running = inventory({
      containers: [deadOf('older', 2 * HOUR), { ...deadOf('newer', HOUR), state: 'running' }],
    });
    expect(await itemsOf(containerRemoval(['older', 'newer']), running, patient)).toEqual([
      expect.stringMatching(/^older kept-by-own-plan: this node keeps it now by rule M26,/),
      expect.stringMatching(/^newer kept-by-own-plan: this node keeps it now by rule G3,/),
    ]);
  });

  test('nothing goes in dry-run, and the plan says so', async () => {
    const plan = await itemsOf(containerRemoval(['older']), two, { mode: 'dry-run' });
    expect(plan).toEqual([expect.stringMatching(/^older kept-by-own-plan: .*dry-run: no command is sent$/)]);
  });

  test('each object is told the rule of its own place', async () => {
    const own = inventory({
      images: [image('a', { pinned: true }), image('b', { usedBy: [{ kind: 'container', id: 'c' }] })],
    });
    expect(await itemsOf(imageRemoval(['a', 'b', 'c']), own)).toEqual([
      expect.stringMatching(
        /^a kept-by-own-plan: this node keeps it now by rule D7, as it decides itself: \S/,
      ),
      expect.stringMatching(
        /^b kept-by-own-plan: this node keeps it now by rule C8, as it decides itself: \S/,
      ),
      'c first-detected-later: it was not there when this node looked for itself',
    ]);
  });

  test.each<{ name: string; own: Inventory; says: string }>([
    {
      name: 'is not complete',
      own: {
        ...incompleteInventory,
        status: 'incomplete',
        problems: [
          { code: 'runtime-changed-meanwhile', message: 'one vanished' },
          { code: 'runtime-changed-meanwhile', message: 'another came' },
        ],
      },
      says: 'one vanished; another came',
    },
    { name: 'is too large', own: tooLargeInventory, says: 'it holds more than an inventory can tell' },
  ])(
    'nothing goes where its inventory $name, and the reclaim stays as it was ordered',
    async ({ own, says }) => {
      const command = imageRemoval(['a'], { reclaim: reclaim() });
      expect(await itemsOf(command, own)).toEqual([
        `a runtime-unavailable: this node cannot see for itself what may go, so nothing does: ${says}`,
      ]);
      expect((await planFor(command, own)).reclaim).toEqual(reclaim());
    },
  );

  test('[D6] the target is what its own policy asks for', async () => {
    const own = inventory({
      reclaim: reclaim({ target: { ...reclaim().target, atLeast: '900' } }),
      images: [image('a', { sizeBytes: 100 })],
    });
    expect((await planFor(imageRemoval(['a'], { reclaim: own.reclaim }), own)).reclaim).toEqual(reclaim());
  });
});

describe('[D6] a reclaim that this node has to believe', () => {
  /** Of a disk with 180 of 1000 bytes free, which is between the two thresholds; an hour ago it had so many. */
  async function planned(hadFree: string, takenAt: Instant = instant()) {
    const own = inventory({
      takenAt,
      reclaim: reclaim(),
      filesystems: filesystems({ availableBytes: '180' }),
      images: [image('a', { sizeBytes: 100 })],
    });
    const buckets = Array.from({ length: 61 }, (_, minutes): Bucket => {
      const free = minutes === 60 ? hadFree : '180';
      return [takenAt.sinceBootMs - minutes * MINUTE, free, free, free];
    });
    const command = imageRemoval(['a'], { reclaim: reclaim() });
    const plan = await ownPlan(command, policyRecord().policy, {
      takeInventory: async () => own,
      diskHistory: () => ({
        ...NO_DISK_HISTORY,
        imagefs: { availableBytes: buckets.toReversed(), inodesFree: [] },
      }),
      lastActions: () => [],
    });
    const [item] = command.items;
    return { reclaim: plan.reclaim, item: item && plan.itemOf(item) };
  }

  test('met its threshold within the last two hours', async () => {
    expect(await planned('50')).toMatchObject({
      reclaim: { id: 'reclaim-1' },
      item: { id: 'a', rule: 'D11' },
    });
  });

  test('ends where it met none: nothing goes for it, and there is no target', async () => {
    expect(await planned('180')).toEqual({
      reclaim: null,
      item: {
        reason: 'kept-by-own-plan',
        message: expect.stringContaining('meets no threshold of policy default for imageGC'),
      },
    });
  });
});

test('[E3] no threshold is asked about where no reclaim is', async () => {
  const own = inventory({
    filesystems: filesystems({ availableBytes: '1000' }),
    images: [image('a'), image('b', { usedBy: [{ kind: 'container', id: 'c' }] })],
  });
  const command = imageRemoval(['a']);
  const plan = await ownPlan(command, policyRecord({ imageMaximumGCAgeMs: 1 }).policy, {
    takeInventory: async () => own,
    diskHistory: () => NO_DISK_HISTORY,
    lastActions: () => [],
  });
  expect(plan.reclaim).toBeNull();
  expect(command.items.map(plan.itemOf)).toMatchObject([{ id: 'a', rule: 'E3' }]);
});

test('the inventory is asked for the reclaim of the command, and of after what was done last', async () => {
  const asked: unknown[] = [];
  const at = instant();
  const command = imageRemoval(['a'], { reclaim: reclaim() });
  const plan = await ownPlan(command, policyRecord().policy, {
    takeInventory: async (...args) => {
      asked.push(args);
      throw new Error('the runtime is away');
    },
    diskHistory: () => NO_DISK_HISTORY,
    lastActions: () => [at],
  });
  expect(asked).toEqual([[reclaim(), [at]]]);
  expect(plan.reclaim).toEqual(reclaim());
  expect(command.items.map(plan.itemOf)).toEqual([
    {
      reason: 'runtime-unavailable',
      message: 'this node cannot see for itself what may go, so nothing does: the runtime is away',
    },
  ]);
});
