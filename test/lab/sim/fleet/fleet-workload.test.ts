import { expect, test } from 'vitest';
import { drop, type FleetNode, readingsAt } from '../../../../lab/sim/fleet/node.ts';
import { beginWorkload, rollOut, type WorkloadEvent } from '../../../../lab/sim/fleet/workload.ts';
import { fleetInNoTime, nodesOf } from './support.ts';

const HOUR_MS = 60 * 60 * 1000;
const { signal } = new AbortController();

/** What a fleet of some nodes lives through in an hour. */
async function lived(seed: number, disturb: (nodes: readonly FleetNode[]) => void = () => {}) {
  const busyFleet = fleetInNoTime(seed, HOUR_MS);
  const nodes = nodesOf(busyFleet, 20);
  for (const node of nodes) beginWorkload(busyFleet, node);
  rollOut(busyFleet, nodes);
  busyFleet.time.at(HOUR_MS / 2, () => disturb(nodes));
  await busyFleet.time.run(HOUR_MS, signal);
  return { reported: busyFleet.reported, readings: nodes.map((node) => readingsAt(node, HOUR_MS)) };
}

test('the same seed gives the same lives, another seed others', async () => {
  const first = await lived(7);
  expect(await lived(7)).toEqual(first);
  expect((await lived(8)).reported).not.toEqual(first.reported);
});

test('what is removed changes nothing that happens later', async () => {
  const removeUnused = (nodes: readonly FleetNode[]): void => {
    for (const { disk, pods } of nodes) {
      const wanted = new Set([...pods.values()].map(({ image }) => image.id));
      for (const id of disk.images.keys()) if (!wanted.has(id)) drop(disk, id);
    }
  };
  expect((await lived(7, removeUnused)).reported).toEqual((await lived(7)).reported);
});

test('pods come, crash, and end; releases reach all nodes that run the application within minutes', async () => {
  const { reported } = await lived(7);
  const kinds = new Set(reported.map(({ what }) => what));
  expect([...kinds].toSorted()).toEqual(
    expect.arrayContaining(['crashed', 'deployed', 'job-finished', 'job-started', 'rolled-out']),
  );
  const rollOuts = Map.groupBy(
    reported.filter(({ what }) => what === 'rolled-out'),
    ({ about }) => about,
  );
  for (const [, events] of rollOuts) expect(spanMs(events)).toBeLessThanOrEqual(5 * 60 * 1000);
});

const spanMs = (events: readonly WorkloadEvent[]): number =>
  Math.max(...events.map(({ atMs }) => atMs)) - Math.min(...events.map(({ atMs }) => atMs));
