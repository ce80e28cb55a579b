import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../schemas/events/decision.ts';
import type { CommandResult } from '../../schemas/events/result.ts';
import { runPod } from '../support/pods.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { policyFor } from './support/fleet/policies.ts';
import { namesOf, pushImages } from './support/images.ts';
import { decisionsOf, inventoryOf, objectResults, removedIds } from './support/outcomes.ts';

/** On a disk of 200 MiB each takes 9 %, all together more than the high threshold. */
const SIZES = { a: 9, b: 9, c: 9, d: 9, e: 9, f: 9 };
const THRESHOLDS = {
  imageGCHighThresholdPercent: 50,
  imageGCLowThresholdPercent: 10,
  // Negative means none.
  imageMinimumGCAge: '-1s',
};

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** A node whose disk is above the high threshold, with nothing of ours running on it. */
async function pressedNode(name: string) {
  const [node, images] = await Promise.all([
    fleet.startNode({ name, diskMebibytes: 200 }),
    pushImages(fleet.registry, name, SIZES),
  ]);
  for (const image of Object.values(images)) await node.pull(image);
  return { node, images };
}

const commandOf = (node: string) =>
  fleet.log.waitFor('commands', `a command for ${node}`, (event) => event.node === node);

const resultOf = async (commandId: string): Promise<CommandResult> => {
  const isIt = (event: { readonly type: string }): event is CommandResult =>
    event.type === 'fleetgc.node.command-result' && 'commandId' in event && event.commandId === commandId;
  await fleet.log.waitFor('results', `the result of ${commandId}`, isIt);
  const found = fleet.log.events('results').find(isIt);
  if (!found) throw new Error('unreachable');
  return found;
};

/** Names of the images that a decision would remove, in the order of the inventory. */
function plannedNames(decision: Decision, images: Parameters<typeof namesOf>[0]): string[] {
  const { images: listed } = inventoryOf(fleet.log, decision);
  const removals = decision.verdicts.filter(({ action }) => action === 'remove');
  return namesOf(
    images,
    removals.map(({ position }) => listed[position]?.id ?? ''),
  ).toSorted();
}

/** Gives the disk another reading, which begins another reclaim. */
const stir = (node: FleetNode) => node.exec(['dd', 'if=/dev/zero', 'of=/disk/stirred', 'bs=1M', 'count=5']);

/** Takes away what was stirred in, or brings it back. */
const stirAgain = (node: FleetNode) =>
  node.exec(['sh', '-c', 'rm /disk/stirred || dd if=/dev/zero of=/disk/stirred bs=1M count=5']);

describe.concurrent('between decision and removal', () => {
  test('an image that became used stays, and the result says why [K5, M5]', async () => {
    const { node, images } = await pressedNode('reused');
    await fleet.apply(policyFor('reused', THRESHOLDS));
    await node.startFleetgc('node-agent');
    const command = await commandOf('reused');
    const [first] = command.items;
    const [reused] = namesOf(images, [first?.id ?? '']);
    if (!first || !reused) throw new Error(`a command without images: ${command.id}`);

    await runPod(node, { name: 'late', image: images[reused].reference });
    await node.startFleetgc('node-executor');

    const { result } = await resultOf(command.id);
    expect(result).toMatchObject({ outcome: 'done', refused: 1, removed: command.items.length - 1 });
    const refused = objectResults(fleet.log, 'reused').find(({ object }) => object.id === first.id);
    expect(refused?.result).toMatchObject({ outcome: 'refused', reason: 'in-use' });
    expect(namesOf(images, await node.imageIds())).toContain(reused);
  });

  test('a dry run decides the same and removes nothing', async () => {
    const { node, images } = await pressedNode('rehearsed');
    await fleet.apply(policyFor('rehearsed', { ...THRESHOLDS, mode: 'dry-run' }));
    await node.startFleetgc();
    const rehearsed = await planOf('rehearsed', 'dry-run');
    expect(fleet.log.events('commands').filter((command) => command.node === 'rehearsed')).toEqual([]);
    expect(namesOf(images, await node.imageIds())).toHaveLength(6);

    await fleet.apply(policyFor('rehearsed', THRESHOLDS));
    await stir(node);

    const enforced = await planOf('rehearsed', 'commanded');
    expect(plannedNames(enforced, images)).toEqual(plannedNames(rehearsed, images));
    expect(enforced.estimatedBytes).toBe(rehearsed.estimatedBytes);
    const { commandId } = await resultOf(enforced.outputIds[0] ?? '');
    // The next command of the reclaim may have removed more by now.
    const results = objectResults(fleet.log, 'rehearsed').filter((result) => result.commandId === commandId);
    expect(results.map(({ result }) => result.outcome)).toEqual(results.map(() => 'removed'));
    const removed = namesOf(
      images,
      results.map(({ object }) => object.id),
    );
    expect(removed.toSorted()).toEqual(plannedNames(rehearsed, images));
  });

  test('a pause stops commands that are under way, and the next ones', async () => {
    const { node, images } = await pressedNode('paused');
    await fleet.apply(policyFor('paused', THRESHOLDS));
    await node.startFleetgc('node-agent');
    const command = await commandOf('paused');

    await fleet.cli(['pause', '--node-name', 'paused', '--reason', 'maintenance']);
    await node.startFleetgc('node-executor');

    const { result } = await resultOf(command.id);
    expect(result).toMatchObject({ outcome: 'refused', reason: 'paused' });
    await stir(node);
    await planOf('paused', 'paused', 'pressure');
    expect(namesOf(images, await node.imageIds())).toHaveLength(6);

    await fleet.cli(['resume', '--node-name', 'paused']);
    // A change may be told while the services do not know yet that the pause is over; then another one is.
    let answered = 0;
    await fleet.log.until('images to go after the pause', 120_000, async () => {
      const decisions = decisionsOf(fleet.log, 'pressure', 'paused');
      if (decisions.length > answered && decisions.at(-1)?.outcome === 'paused') {
        answered = decisions.length;
        await stirAgain(node);
      }
      return removedIds(fleet.log, 'paused').length > 0;
    });
  });
});

/** The first decision of image-gc (or another) about a node with that outcome. */
const planOf = (
  node: string,
  outcome: Decision['outcome'],
  decider: Decision['decider']['name'] = 'image-gc',
) =>
  fleet.log.until(
    `${decider} to decide '${outcome}' about ${node}`,
    60_000,
    () => decisionsOf(fleet.log, decider, node).find((decision) => decision.outcome === outcome) ?? null,
  );
