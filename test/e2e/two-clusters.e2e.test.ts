import { afterAll, beforeAll, expect, test } from 'vitest';
import { partitionOf } from '../../packages/log/partition.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PushedImage } from '../support/nodes/registry.ts';
import { accountOf, expectRemovedIsGone } from './support/accounts.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { putCommands } from './support/fleet/put-commands.ts';
import {
  pullAnother,
  pullUntilPressed,
  pushEqualImages,
  REMOVES_AT_ONCE,
  relieved,
  SMALL_DISK_MEBIBYTES,
} from './support/pressure.ts';

const NODE = 'web-1';
const RELIEVED_MS = 60_000;

const placeOf = (cluster: string): number =>
  partitionOf(TOPICS.commands.name, nodeKey({ cluster, node: NODE }));

/** A cluster whose node of this name lies in the same partition, so that each executor sees the other's orders. */
function besides(cluster: string): string {
  const names = Array.from({ length: 1000 }, (_, number) => `west-${number}`);
  const found = names.find((name) => placeOf(name) === placeOf(cluster));
  if (!found) throw new Error(`no name of a cluster falls together with ${cluster}`);
  return found;
}

const EAST = 'east';
const WEST = besides(EAST);

let fleet: Fleet;
let images: readonly PushedImage[];
beforeAll(async () => {
  fleet = await startFleet();
  images = await pushEqualImages(fleet.registry);
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const startNode = (cluster: string): Promise<FleetNode> =>
  fleet.startNode({ name: NODE, cluster, diskMebibytes: SMALL_DISK_MEBIBYTES });

const enforceIn = (cluster: string): Promise<void> =>
  fleet.apply({ ...REMOVES_AT_ONCE, name: cluster, selector: { clusters: [cluster] } });

const refusal = (node: FleetNode, commandId: string) =>
  fleet.log.waitFor(
    'results',
    `the refusal of ${commandId} by ${node.cluster}/${node.name}`,
    (event) =>
      event.type === 'fleetgc.node.command-result' &&
      event.cluster === node.cluster &&
      event.commandId === commandId &&
      event.result.outcome === 'refused',
  );

test('two clusters with equal node names on one Kafka: neither touches the other’s node', async () => {
  const [east, west] = await Promise.all([startNode(EAST), startNode(WEST), enforceIn(EAST)]);
  await Promise.all([east.startFleetgc(), west.startFleetgc()]);
  const [pulledEast, pulledWest] = await Promise.all([
    pullUntilPressed(east, images),
    pullUntilPressed(west, images),
  ]);
  const ofWest = (await west.imageIds()).toSorted();

  await relieved(fleet.log, east, RELIEVED_MS);

  await fleet.log.waitFor(
    'decisions',
    'the decision to keep everything in the west',
    (event) =>
      event.type === 'fleetgc.node.decision' && event.cluster === WEST && event.outcome === 'no-policy',
  );
  expect(accountOf(fleet.log, west).commands).toEqual([]);

  const [command] = accountOf(fleet.log, east).commands;
  if (!command) throw new Error('there was no command for the east');
  const [misdirected] = fleet.log.seen('commands');
  if (!misdirected) throw new Error('there was no command');
  await fleet.log.log.publish([{ ...misdirected.record, key: nodeKey({ cluster: WEST, node: NODE }) }]);
  expect(await refusal(west, command.id)).toMatchObject({ result: { reason: 'other-node' } });
  const renamed = { ...command, id: 'renamed', cluster: WEST };
  await putCommands(fleet.log, [renamed]);
  expect(await refusal(west, renamed.id)).toMatchObject({ result: { reason: 'other-instance' } });

  expect((await west.imageIds()).toSorted()).toEqual(ofWest);
  const ofEast = (await east.imageIds()).toSorted();
  await enforceIn(WEST);
  const another = await pullAnother(west, images);
  await relieved(fleet.log, west, RELIEVED_MS);
  expect((await east.imageIds()).toSorted()).toEqual(ofEast);
  await expectOwnRemovals(east, pulledEast);
  await expectOwnRemovals(west, [...pulledWest, another]);
});

/** What is gone is what this node says it removed, and one instance said it all. */
async function expectOwnRemovals(node: FleetNode, pulled: readonly PushedImage[]): Promise<void> {
  await expectRemovedIsGone(fleet.log, node, pulled);
  const { objectResults } = accountOf(fleet.log, node);
  expect(new Set(objectResults.map(({ nodeInstance }) => nodeInstance)).size).toBe(1);
}
