import { describe, expect, test } from 'vitest';
import type { Bucket } from '../../../../schemas/events/disk-stats.ts';
import type { CompleteInventory, Inventory } from '../../../../schemas/events/inventory.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { container, image, incompleteInventory, inventory } from '../../../fixtures/inventory.ts';
import { digestOf } from '../../../fixtures/listing.ts';
import { keepList, policyRecord } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, MINUTE, nsAgo } from '../../../fixtures/time.ts';
import { addContainer, addImages, type ExecutorNode, executorNode } from './support/executor-node.ts';

const OTHERS = Array.from({ length: 10 }, (_, index) =>
  image(`other-${index}`, { usedBy: [{ kind: 'container', id: 'c' }] }),
);

/** The images and containers of the runtime as this node sees them itself, on a disk that is full. */
function seeing(node: ExecutorNode, over: Partial<CompleteInventory> = {}): void {
  node.takeInventory = async (asked): Promise<Inventory> =>
    inventory({
      takenAt: node.clock.now(),
      reclaim: asked,
      filesystems: filesystems({ availableBytes: '50' }),
      images: [...[...node.runtime.images.keys()].map((id) => image(id)), ...OTHERS],
      containers: [...node.runtime.containers.keys()].map((id) =>
        container(id, { name: id, createdAtNs: nsAgo(10 * HOUR), logPath: null }),
      ),
      ...over,
    });
}

const enforce = (node: ExecutorNode, policy: Partial<Policy>): void => {
  node.policy = () => ({ kind: 'enforced', record: policyRecord(policy) });
};

/** A full disk, and a command of a reclaim that names the image `a`, as somebody made it who may write everything but policies. */
async function commanded(prepare: (node: ExecutorNode, a: string) => void) {
  const node = executorNode();
  node.runtime.otherBytes = 950n;
  const [a = ''] = addImages(node, ['a']);
  seeing(node);
  enforce(node, {});
  prepare(node, a);
  await node.start().carryOut(imageRemoval([a], { reclaim: reclaim(), takenAt: node.clock.now() }));
  return { node, outcome: node.outcomes()[a], isThere: node.runtime.images.has(a) };
}

describe('a command for an image', () => {
  test('[D11] is carried out where this node would remove it itself', async () => {
    expect(await commanded(() => undefined)).toMatchObject({
      outcome: { outcome: 'removed' },
      isThere: false,
    });
  });

  test('[M11] takes nothing from the keep list of the policy in force, whatever was decided before', async () => {
    const found = await commanded((node) =>
      enforce(node, { keep: keepList({ patterns: ['registry.example/**'] }) }),
    );
    expect(found).toMatchObject({
      outcome: { outcome: 'refused', reason: 'kept-by-policy' },
      isThere: true,
    });
  });

  test('[M11] takes nothing without a digest while the policy keeps what cannot be pulled again', async () => {
    const found = await commanded((node, a) =>
      seeing(node, { images: [image(a, { repoDigests: [] }), ...OTHERS] }),
    );
    expect(found).toMatchObject({
      outcome: { outcome: 'refused', reason: 'kept-by-own-plan' },
      isThere: true,
    });
    expect(found.outcome).toMatchObject({ message: expect.stringContaining('rule M11') });
  });

  test.each([
    { name: 'was never at the high threshold here', least: null, isThere: true },
    { name: 'was at the high threshold a minute ago', least: '50', isThere: false },
  ])('[D6] on a disk between the two thresholds that $name', async ({ least, isThere }) => {
    const found = await commanded((node) => {
      node.runtime.otherBytes = 810n;
      seeing(node, { filesystems: filesystems({ availableBytes: '180' }) });
      const bucket: Bucket = [node.clock.now().sinceBootMs - MINUTE, least ?? '180', '180', '180'];
      const imagefs = { availableBytes: [bucket], inodesFree: [] };
      node.diskHistory = { ...NO_DISK_HISTORY, imagefs };
    });
    expect(found.isThere).toBe(isThere);
    if (isThere)
      expect(found.outcome).toMatchObject({
        reason: 'kept-by-own-plan',
        message: expect.stringContaining('meets no threshold of policy default for imageGC'),
      });
  });

  test('[D10] takes nothing that this node itself detected a second ago, whatever an inventory on the log says', async () => {
    const found = await commanded((node, a) => {
      const justNow = node.clock.now().wallTimeMs - 1_000;
      seeing(node, { images: [image(a, { firstDetectedMs: justNow }), ...OTHERS] });
      enforce(node, { imageMinimumGCAgeMs: 24 * HOUR });
    });
    expect(found).toMatchObject({ outcome: { reason: 'kept-by-own-plan' }, isThere: true });
    expect(found.outcome).toMatchObject({ message: expect.stringContaining('rule D10') });
  });

  test('[D12] takes nothing on a disk that has what its policy wants', async () => {
    const found = await commanded((node) =>
      seeing(node, { filesystems: filesystems({ availableBytes: '690' }) }),
    );
    expect(found).toMatchObject({ isThere: true });
  });

  test('takes nothing where this node cannot see for itself', async () => {
    for (const take of [
      async () => incompleteInventory,
      async () => {
        throw new Error('the runtime is away');
      },
    ]) {
      const found = await commanded((node) => {
        node.takeInventory = take;
      });
      expect(found).toMatchObject({
        outcome: { outcome: 'refused', reason: 'runtime-unavailable' },
        isThere: true,
      });
    }
  });

  test.each<{ name: string; policy: ExecutorNode['policy'] }>([
    {
      name: 'of a policy that nobody here knows',
      policy: () => ({ kind: 'enforced', record: { ...policyRecord(), hash: 'e'.repeat(64) } }),
    },
    { name: 'where no policy is in force', policy: () => ({ kind: 'not-enforced', message: 'none' }) },
  ])('$name is refused, and its reclaim is decided once more', async ({ policy }) => {
    const found = await commanded((node) => {
      node.policy = policy;
    });
    expect(found.isThere).toBe(true);
    expect(found.node.result()).toMatchObject({ outcome: 'refused', reason: 'policy-not-in-force' });
    const types = found.node.published.map(({ type }) => type);
    expect(types).not.toContain('fleetgc.node.pressure-unrelieved');
  });

  test('whose policy is replaced in the middle leaves the rest', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const { policy } = node;
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage'))
        node.policy = () => ({ kind: 'enforced', record: { ...policyRecord(), hash: 'e'.repeat(64) } });
    };
    expect(policy().kind).toBe('enforced');
    await node.start().carryOut(imageRemoval([a, b]));
    expect(node.outcomes()).toMatchObject({
      [a]: { outcome: 'removed' },
      [b]: { outcome: 'refused', reason: 'policy-not-in-force' },
    });
  });
});

test('a reclaim that nothing here justifies ends with its command: it goes on nowhere, and leaves no pressure', async () => {
  const found = await commanded((node) =>
    seeing(node, { filesystems: filesystems({ availableBytes: '900' }) }),
  );
  expect(found.isThere).toBe(true);
  expect(found.node.result()).toMatchObject({ outcome: 'done', removed: 0 });
  expect(found.node.published.map(({ type }) => type)).toEqual([
    'fleetgc.node.object-result',
    'fleetgc.node.command-result',
  ]);
});

describe('a command for a container', () => {
  const dead = async (policy: Partial<Policy>, over: Partial<CompleteInventory> = {}) => {
    const node = executorNode();
    addContainer(node, 'dead');
    seeing(node, over);
    enforce(node, policy);
    await node.start().carryOut(containerRemoval(['dead'], { takenAt: node.clock.now() }));
    return { outcome: node.outcomes().dead, isThere: node.runtime.containers.has('dead') };
  };

  test('[G7] is carried out where this node would remove it itself', async () => {
    expect(await dead({ maximumDeadContainersPerContainer: 0 })).toMatchObject({ isThere: false });
  });

  test('[M11] takes nothing of a kept namespace', async () => {
    const kept = { maximumDeadContainersPerContainer: 0, keep: keepList({ namespaces: ['default'] }) };
    expect(await dead(kept)).toMatchObject({ outcome: { reason: 'kept-by-own-plan' }, isThere: true });
  });

  test('[G7] takes none within the limits', async () => {
    expect(await dead({ maximumDeadContainersPerContainer: 1 })).toMatchObject({
      outcome: { reason: 'kept-by-own-plan' },
      isThere: true,
    });
  });
});

test('an object that came after this node looked stays', async () => {
  const node = executorNode();
  const [a = '', b = ''] = addImages(node, ['a', 'b']);
  const { takeInventory } = node;
  node.takeInventory = async (asked, actions) => {
    const seen = await takeInventory(asked, actions);
    return seen.status === 'complete' ? { ...seen, images: seen.images.filter(({ id }) => id !== b) } : seen;
  };
  await node.start().carryOut(imageRemoval([a, b]));
  expect(node.outcomes()).toMatchObject({
    [a]: { outcome: 'removed' },
    [b]: { outcome: 'refused', reason: 'first-detected-later' },
  });
  expect(node.runtime.images.has(digestOf('b'))).toBe(true);
});

describe('a plan', () => {
  /** Two images; while the first goes, time passes and what this node sees of itself changes. */
  async function afterTheFirst(passedMs: number, change: (node: ExecutorNode, b: string) => void) {
    const node = executorNode();
    node.runtime.otherBytes = 950n;
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    seeing(node);
    enforce(node, { imageMaximumGCAgeMs: HOUR });
    node.runtime.after = (call) => {
      if (call !== `removeImage ${a}`) return;
      node.clock.advance(passedMs);
      change(node, b);
    };
    await node.start().carryOut(imageRemoval([a, b], { reclaim: reclaim(), takenAt: node.clock.now() }));
    expect(node.outcomes()[a]).toMatchObject({ outcome: 'removed' });
    return { node, outcome: node.outcomes()[b] };
  }
  const keepsB = (node: ExecutorNode, b: string): void =>
    seeing(node, { images: [image(b, { repoDigests: [] }), ...OTHERS] });

  test('older than ten seconds is made anew before the next object', async () => {
    const { outcome } = await afterTheFirst(10_001, keepsB);
    expect(outcome).toMatchObject({ reason: 'kept-by-own-plan' });
  });

  test('of the last seconds serves the next object', async () => {
    let looks = 0;
    const { outcome } = await afterTheFirst(5_000, (node) => {
      node.takeInventory = async () => {
        looks += 1;
        return incompleteInventory;
      };
    });
    expect(outcome).toMatchObject({ outcome: 'removed' });
    expect(looks).toBe(0);
  });

  test('made anew without a target leaves the rest, and its reclaim ends', async () => {
    const { node, outcome } = await afterTheFirst(10_001, (changed) =>
      seeing(changed, { filesystems: filesystems({ availableBytes: '690' }) }),
    );
    expect(outcome).toMatchObject({
      reason: 'kept-by-own-plan',
      message: expect.stringContaining('meets no threshold'),
    });
    expect(node.published.map(({ type }) => type)).toEqual([
      'fleetgc.node.object-result',
      'fleetgc.node.object-result',
      'fleetgc.node.command-result',
    ]);
  });

  test('is made anew after a stop that took long', async () => {
    const node = executorNode();
    addContainer(node, 'dead', { state: 'unknown' });
    seeing(node);
    enforce(node, { maximumDeadContainersPerContainer: 0 });
    node.runtime.after = (call) => {
      if (!call.startsWith('stopContainer')) return;
      node.clock.advance(10_001);
      enforce(node, { maximumDeadContainersPerContainer: 1 });
    };
    await node.start().carryOut(containerRemoval(['dead'], { takenAt: node.clock.now() }));
    expect(node.runtime.gone).toEqual([]);
    expect(node.outcomes()).toMatchObject({
      dead: { reason: 'kept-by-own-plan', alreadyDone: ['stopped'] },
    });
  });

  test('is made on what was seen after the last action on the node', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const executor = node.start();
    await executor.carryOut(imageRemoval([a], { id: 'first' }));
    node.clock.advance(1_000);
    const { takeInventory } = node;
    const asked: (readonly Instant[])[] = [];
    node.takeInventory = async (target, actions) => {
      asked.push(actions);
      return takeInventory(target, actions);
    };
    await executor.carryOut(imageRemoval([b], { id: 'second', takenAt: node.clock.now() }));
    const { lastActions } = JSON.parse(node.state.files.get('journal') ?? '');
    expect(lastActions.image).toMatchObject({ commandId: 'second' });
    expect(asked).toEqual([[expect.objectContaining({ bootId: node.clock.now().bootId })]]);
    const actedAt = asked[0]?.[0]?.sinceBootMs ?? 0;
    expect(actedAt).toBeGreaterThan(0);
    expect(actedAt).toBeLessThan(lastActions.image.at.sinceBootMs);
  });
});
