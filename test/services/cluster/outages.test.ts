import { expect, test } from 'vitest';
import type { Owner } from '../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP, REPLICA_SET, SECRET } from '../../../lab/sim/api-server/objects.ts';
import { ClusterWorld } from './support/cluster-world.ts';

const named = (kind: typeof CONFIG_MAP, name: string): Owner => ({
  kind,
  name: { namespace: 'default', name },
});
const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** What was told of each object, by its name. */
function outcomes(world: ClusterWorld): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const event of world.results) {
    if (event.type !== 'fleetgc.cluster.object-results') continue;
    for (const { object, result } of event.objects)
      found.set(object.name, [...(found.get(object.name) ?? []), result.outcome]);
  }
  return found;
}

/** It went, as removed once at most, and somebody told of it. */
function expectGoneOnce(world: ClusterWorld, name: string): void {
  expect([name, world.deeds.isThere(named(SECRET, name))]).toEqual([name, false]);
  const told = outcomes(world).get(name) ?? [];
  expect(told.filter((outcome) => outcome === 'removed').length, `${name}: ${told}`).toBeLessThanOrEqual(1);
  expect(
    told.some((outcome) => outcome === 'removed' || outcome === 'not-found'),
    `${name}: ${told}`,
  ).toBe(true);
}

function family(
  world: ClusterWorld,
  name: string,
  count: number,
): { owner: Owner; children: readonly string[] } {
  const owner = world.deeds.create(named(CONFIG_MAP, name));
  const children = names(`of-${name}`, count);
  for (const child of children) world.deeds.create({ ...named(SECRET, child), owner });
  return { owner, children };
}

test.each([true, false])(
  '[cluster D15] scenario 12: killed at each step (after it: %s), what an owner leaves goes once, and is told',
  async (isAfter) => {
    let deaths = 0;
    for (let at = 1; at < 30; at++) {
      const world = new ClusterWorld();
      const { owner, children } = family(world, 'o', 3);
      const bystander = family(world, 'stays', 2);
      const life = await world.begin({ at, isAfter });
      await world.pass(3);
      world.deeds.delete(owner, 'Background');
      await world.pass(6);
      if (life.isDead) deaths++;
      await world.begin();
      await world.pass(15);
      for (const child of children) expectGoneOnce(world, child);
      for (const child of bystander.children) expect(world.deeds.isThere(named(SECRET, child))).toBe(true);
      if (!life.isDead) break;
    }
    expect(deaths).toBeGreaterThan(4);
  },
);

test('[cluster D15] scenario 12: two agents and two executors at once do what one of each does', async () => {
  const world = new ClusterWorld();
  const { owner, children } = family(world, 'o', 20);
  const bystander = family(world, 'stays', 2);
  await world.begin();
  world.join();
  await world.pass(3);
  world.deeds.delete(owner, 'Background');
  await world.pass(20);
  for (const child of children) expectGoneOnce(world, child);
  for (const child of bystander.children) expect(world.deeds.isThere(named(SECRET, child))).toBe(true);
});

test('[cluster C14] while the log is away for an hour of roll-outs nothing goes, and afterwards all that is left over goes once, and nothing else', async () => {
  const world = new ClusterWorld();
  await world.begin();
  const rollOut = (release: number): void => {
    const owner = world.deeds.create(named(REPLICA_SET, `web-${release}`));
    for (const name of names(`web-${release}`, 3)) world.deeds.create({ ...named(SECRET, name), owner });
    const before = named(REPLICA_SET, `web-${release - 1}`);
    if (world.deeds.isThere(before)) world.deeds.delete(before, 'Background');
  };
  rollOut(0);
  await world.pass(5);
  world.isLogAway = true;
  const releases = 60;
  for (let release = 1; release <= releases; release++) {
    rollOut(release);
    await world.pass(60);
  }
  const old = Array.from({ length: releases }, (_, release) => names(`web-${release}`, 3)).flat();
  expect(old.filter((name) => !world.deeds.isThere(named(SECRET, name)))).toEqual([]);
  world.isLogAway = false;
  await world.pass(20);
  for (const name of old) expectGoneOnce(world, name);
  for (const name of names(`web-${releases}`, 3)) expect(world.deeds.isThere(named(SECRET, name))).toBe(true);
});

test('[cluster C14, I11] an agent that is killed while the log is away leaves it to the next one', async () => {
  const world = new ClusterWorld();
  const { owner, children } = family(world, 'o', 4);
  await world.begin();
  await world.pass(3);
  world.isLogAway = true;
  world.deeds.delete(owner, 'Background');
  await world.pass(30);
  await world.begin();
  await world.pass(30);
  world.isLogAway = false;
  await world.pass(15);
  for (const child of children) expectGoneOnce(world, child);
});
