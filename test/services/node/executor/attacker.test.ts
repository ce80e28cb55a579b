import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide as decideContainers } from '../../../../packages/deciders/container-gc/decide.ts';
import { decide as decideImages } from '../../../../packages/deciders/image-gc/decide.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { EvictionSignal } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { arbitraryNode, arbitraryPolicy } from '../../../fixtures/arbitrary-node.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { runtimeImage } from '../../../fixtures/listing.ts';
import { policyRecord } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import {
  addContainer,
  addSandbox,
  type ExecutorNode,
  executorNode,
  knowImage,
} from './support/executor-node.ts';

/** Whatever reclaim somebody claims who may write everything but policies. */
const forgedReclaim: fc.Arbitrary<Reclaim | null> = fc.option(
  fc
    .record({
      signal: fc.constantFrom(...EvictionSignal.options, 'imageGC', 'imageGCAvailable', 'made-up'),
      reading: fc.constantFrom('100%', '0', ''),
      filesystem: fc.constantFrom('nodefs', 'imagefs', 'containerfs'),
      resource: fc.constantFrom('availableBytes', 'inodesFree'),
      atLeast: fc.nat({ max: 2_000 }).map(String),
      step: fc.constantFrom('containers', 'images'),
      round: fc.integer({ min: 1, max: 5 }),
    })
    .map(({ signal, reading, step, round, ...target }) =>
      reclaim({ cause: { ...reclaim().cause, signal, reading }, target, step, round }),
    ),
);

const scene = fc.record({
  own: arbitraryNode,
  settings: arbitraryPolicy,
  profile: fc.constantFrom<Policy['profile']>('fleetgc', 'kubelet'),
  claimed: forgedReclaim,
  /** Whether the command names the policy in force, and how old it says its inventory is. */
  namesPolicy: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  ageMs: fc.constantFrom(0, 1_000, 30_000),
  kind: fc.constantFrom('images', 'containers'),
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/** The runtime holds all that the node lists, and nothing that the looks before a removal would keep. */
function holding({ images, containers, sandboxes }: CompleteInventory): ExecutorNode {
  const node = executorNode();
  for (const { id } of images) {
    node.runtime.images.set(id, { ...runtimeImage(id), id });
    knowImage(node.state, id);
  }
  for (const { id } of containers) addContainer(node, id);
  for (const { id } of sandboxes) addSandbox(node, id);
  return node;
}

const HASH = policyRecord().hash;

function forged({ own, claimed, namesPolicy, ageMs, kind }: Scene, node: ExecutorNode): Command | null {
  const now = node.clock.now();
  const over = {
    reclaim: claimed,
    takenAt: { ...now, sinceBootMs: now.sinceBootMs - ageMs },
    policy: { name: 'any', version: 1, hash: namesPolicy ? HASH : 'f'.repeat(64), setHash: '' },
  };
  if (kind === 'images') {
    const ids = own.images.map(({ id }) => id);
    return ids.length === 0 ? null : imageRemoval(ids, over);
  }
  const ids = [...own.containers, ...own.sandboxes].map(({ id }) => id);
  return ids.length === 0 ? null : containerRemoval(ids, over);
}

/** What this node would remove now by its own inventory and policy: written down without the executor's own plan. */
function removable(own: CompleteInventory, settings: Policy): ReadonlySet<string> {
  const died = own.containers.filter(({ state }) => state !== 'running').map(({ id }) => id);
  const afterDeaths: CompleteInventory = { ...own, trigger: 'container-died', diedContainerIds: died };
  const all = [
    decideImages(own, settings),
    decideContainers(own, settings),
    decideContainers(afterDeaths, settings),
  ];
  return new Set(
    all.flatMap(({ outcome, items }) => (outcome === 'commanded' ? items.map(({ id }) => id) : [])),
  );
}

test('[M5] who may write everything but policies removes nothing that this node would not remove now by itself', async () => {
  let removals = 0;
  await fc.assert(
    fc.asyncProperty(scene, async (given) => {
      const settings = { ...given.settings, profile: given.profile, maximumDeadContainerAgeMs: null };
      const node = holding(given.own);
      const own = { ...given.own, reclaim: given.claimed };
      node.takeInventory = async () => own;
      node.policy = () => ({ kind: 'enforced', record: { ...policyRecord(), policy: settings } });
      const command = forged(given, node);
      fc.pre(command !== null);
      const executor = node.start();
      await executor.carryOut(command);
      await executor.stop();
      const allowed = given.namesPolicy ? removable(own, settings) : new Set();
      expect(node.runtime.gone.filter((id) => !allowed.has(id))).toEqual([]);
      removals += node.runtime.gone.length;
    }),
    // So many even in a quick run: of sixty once none removed anything, which proves nothing.
    { numRuns: 150 },
  );
  expect(removals, 'the property is about something').toBeGreaterThan(0);
});
