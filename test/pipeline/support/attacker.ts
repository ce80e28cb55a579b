import fc from 'fast-check';
import { nodeOutput, type Output } from '../../../packages/decision/handler.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { EventOf, TopicAbout } from '../../../schemas/events/topics.ts';
import { EvictionSignal } from '../../../schemas/policy/eviction.ts';
import { containerRemoval, imageRemoval } from '../../fixtures/command.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { NODE } from '../../fixtures/inventory.ts';
import { observe } from '../../fixtures/observe.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { objectResult, reclaimGoesOn } from '../../fixtures/results.ts';
import { HOUR } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import type { Pipeline } from './pipeline.ts';

/** What somebody writes who has every right on Kafka but that on policies. */
export interface Forgery {
  readonly topic: TopicAbout<'node'> | 'deadLetters';
  readonly claimed: Reclaim;
  readonly isOfNow: boolean;
}

const CAPACITY = String(10n ** 10n);

/** Begun by any signal, for as much as the disk holds. */
const arbitraryClaim: fc.Arbitrary<Reclaim> = fc
  .record({
    signal: fc.constantFrom('imageGC', 'imageGCAvailable', ...EvictionSignal.options),
    filesystem: fc.constantFrom('nodefs', 'imagefs', 'containerfs'),
    resource: fc.constantFrom('availableBytes', 'availableBytes', 'inodesFree'),
    step: fc.constantFrom('containers', 'images'),
    round: fc.integer({ min: 1, max: 5 }),
    number: fc.nat({ max: 1_000_000 }),
  })
  .map(({ signal, filesystem, resource, step, round, number }) =>
    reclaim({
      id: `reclaim-forged-${number}`,
      cause: { ...reclaim().cause, signal, reading: '100%' },
      target: { filesystem, resource, atLeast: CAPACITY },
      step,
      round,
    }),
  );

export const arbitraryForgery: fc.Arbitrary<Forgery> = fc.record({
  topic: fc.constantFrom(
    'diskStats',
    'inventory',
    'observe',
    'commands',
    'results',
    'decisions',
    'deadLetters',
  ),
  claimed: arbitraryClaim,
  isOfNow: fc.boolean(),
});

/** Publishes it with a fresh id, as of this moment or of the last true event of its kind. */
export async function forge(pipeline: Pipeline, forgery: Forgery, id: string): Promise<void> {
  const { log } = pipeline;
  await log.publish((await outputsOf(pipeline, forgery, id)).map(outgoing));
}

async function outputsOf(
  pipeline: Pipeline,
  { topic, claimed, isOfNow }: Forgery,
  id: string,
): Promise<readonly Output[]> {
  const inventory = await lastInventory(pipeline);
  const takenAt = isOfNow ? pipeline.time.now() : inventory.takenAt;
  switch (topic) {
    case 'diskStats':
      return [nodeOutput('diskStats', { ...diskStats({ availableBytes: '0' }), id, takenAt })];
    case 'inventory':
      return [nodeOutput('inventory', { ...stripped(inventory), id, takenAt, reclaim: claimed })];
    case 'observe':
      return [nodeOutput('observe', observe({ id, takenAt, reclaim: claimed }))];
    case 'commands':
      return commandsOf(pipeline, inventory, { id, takenAt, reclaim: claimed });
    case 'results':
      return [
        nodeOutput('results', reclaimGoesOn({ id, takenAt, reclaim: claimed })),
        nodeOutput('results', objectResult({ id: `${id}-object` })),
      ];
    case 'decisions':
      return (await pipeline.events('decisions'))
        .slice(-1)
        .map((decision) => ({ topic, key: nodeKey(decision), event: { ...decision, id } }));
    case 'deadLetters':
      return [letterOf(id, commandsOf(pipeline, inventory, { id, takenAt, reclaim: claimed }))];
  }
}

/** Everything is old, unused, unpinned and has another name; the disks are full. */
const stripped = (inventory: CompleteInventory): CompleteInventory => ({
  ...inventory,
  imagesWatchedSinceMs: inventory.takenAt.wallTimeMs - 10 * HOUR,
  images: inventory.images.map((image, index) => ({
    ...image,
    usedBy: [],
    pinned: false,
    repoTags: [`registry.example/other:${index}`],
    firstDetectedMs: inventory.takenAt.wallTimeMs - 10 * HOUR,
    lastUsedMs: inventory.takenAt.wallTimeMs - 9 * HOUR,
  })),
  containers: inventory.containers.map((container) => ({ ...container, state: 'exited' })),
  sandboxes: inventory.sandboxes.map((sandbox) => ({ ...sandbox, state: 'notReady' })),
  filesystems: diskStats({ capacityBytes: CAPACITY, availableBytes: '0', inodesFree: '0' }).filesystems,
});

type Header = Pick<EventOf<'commands'>, 'id' | 'takenAt' | 'reclaim'>;

/** All that the node has, under the policy in force and without the reclaim, and with it. */
function commandsOf(pipeline: Pipeline, inventory: CompleteInventory, header: Header): readonly Output[] {
  const { hash: setHash, policies } = pipeline.policies();
  const [record] = policies;
  const policy = { name: 'default', version: 1, hash: record?.hash ?? '', setHash };
  const images = inventory.images.map(({ id }) => id);
  const others = [...inventory.containers, ...inventory.sandboxes].map(({ id }) => id);
  const all = [
    imageRemoval(images, { ...header, policy }),
    imageRemoval(images, { ...header, id: `${header.id}-apart`, policy, reclaim: null }),
    containerRemoval(others, { ...header, id: `${header.id}-containers`, policy }),
  ];
  return all.filter(({ items }) => items.length > 0).map((command) => nodeOutput('commands', command));
}

async function lastInventory(pipeline: Pipeline): Promise<CompleteInventory> {
  const inventories = await pipeline.events('inventory');
  const last = inventories.findLast((one) => one.status === 'complete');
  if (last?.status !== 'complete') throw new Error('the node has published no inventory');
  return last;
}

/** As if a consumer could not process the command. */
function letterOf(id: string, commands: readonly Output[]): Output {
  const record = commands.map(outgoing)[0];
  const event: EventOf<'deadLetters'> = {
    type: 'fleetgc.dead-letter',
    version: 1,
    id,
    cause: 'handler-failed',
    message: 'forged',
    group: 'fleetgc-node',
    topic: 'gc.node.commands',
    partition: 0,
    offset: '0',
    timestampMs: 0,
    key: Buffer.from(nodeKey(NODE)).toString('base64'),
    value: record?.value?.toString('base64') ?? null,
    headers: {},
    omittedBytes: 0,
    suppressedBefore: 0,
  };
  return { topic: 'deadLetters', key: nodeKey(NODE), event };
}
