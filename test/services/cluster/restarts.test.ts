import { describe, expect, test } from 'vitest';
import type { Owner } from '../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP, NAMESPACE, SECRET } from '../../../lab/sim/api-server/objects.ts';
import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { clusterPolicy } from '../../fixtures/cluster.ts';
import { ClusterWorld } from './support/cluster-world.ts';

const DEFINITION: ApiKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const WIDGET: ApiKind = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  resource: 'widgets',
  namespaced: false,
};
/** Nobody ever saw it. */
const absent = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'never', uid: 'never' };
const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

const named = (kind: ApiKind, name: string): Owner => ({
  kind,
  name: { namespace: kind.namespaced ? 'default' : '', name },
});
const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** Owner references that an object has now; `null` for one that is not there. */
function ownersOf(world: ClusterWorld, kind: ApiKind, name: string): number | null {
  return world.cluster.store.get(kind, named(kind, name).name)?.metadata.ownerReferences.length ?? null;
}

describe('[cluster S6, E1, E3] scenario 8: an owner goes so that its dependents stay', () => {
  const children = names('child', 5);

  /** The owner is being deleted, and a copy of a dependent's manifest still names it. */
  function orphaned() {
    const world = new ClusterWorld();
    const owner = world.deeds.create(named(CONFIG_MAP, 'a'));
    for (const name of children) world.deeds.create({ ...named(SECRET, name), owner });
    const late = {
      ...named(SECRET, 'late'),
      fields: { metadata: world.cluster.store.get(SECRET, named(SECRET, 'child-0').name)?.metadata },
    };
    const references = late.fields.metadata?.ownerReferences ?? [];
    return {
      world,
      owner,
      leave: () => world.deeds.delete(owner, 'Orphan'),
      /** Who wrote it did not know that the owner is gone. */
      comeLate: () =>
        void world.cluster.create(
          SECRET,
          'default',
          { metadata: { name: 'late', ownerReferences: references } },
          false,
        ),
    };
  }

  const isLeft = (world: ClusterWorld, owner: Owner): boolean => !world.deeds.isThere(owner);
  function expectAllLeft(world: ClusterWorld): void {
    for (const name of [...children, 'late'])
      expect([name, ownersOf(world, SECRET, name)]).toEqual([name, 0]);
  }

  test('without a restart', async () => {
    const { world, owner, leave, comeLate } = orphaned();
    await world.begin();
    await world.pass(3);
    leave();
    await world.passUntil('the owner to go', () => isLeft(world, owner));
    comeLate();
    await world.pass(10);
    expectAllLeft(world);
  });

  test.each([true, false])(
    'killed at each step (after it: %s), and the late one comes while nobody runs',
    async (isAfter) => {
      let deaths = 0;
      for (let at = 1; at < 40; at++) {
        const { world, owner, leave, comeLate } = orphaned();
        const life = await world.begin({ at, isAfter });
        await world.pass(3);
        leave();
        await world.pass(8);
        if (life.isDead) deaths++;
        await world.begin();
        await world.passUntil('the owner to go', () => isLeft(world, owner));
        await world.end();
        comeLate();
        await world.begin();
        await world.pass(12);
        expectAllLeft(world);
        if (!life.isDead || at > life.steps) break;
      }
      expect(deaths).toBeGreaterThan(7);
    },
  );
});

describe('[cluster S1, S2, S3] scenario 9: a definition goes, and all that its objects own', () => {
  const widgets = names('widget', 6);
  const children = widgets.flatMap((widget) => names(`of-${widget}`, 3));
  const spaces = ['space-1', 'space-2'];

  function owning(limits = clusterPolicy().limits) {
    const world = new ClusterWorld([DEFINITION, WIDGET]);
    world.policy = clusterPolicy({ limits });
    const definition = named(DEFINITION, 'widgets.example.com');
    const define = (): void => {
      world.deeds.create({ ...definition });
      world.cluster.patch(DEFINITION, definition.name, { metadata: { finalizers: [CLEANUP] } }, false);
      if (!world.kinds.includes(WIDGET)) world.kinds.push(WIDGET);
    };
    define();
    for (const widget of widgets) {
      const owner = world.deeds.create(named(WIDGET, widget));
      for (const name of names(`of-${widget}`, 3)) world.deeds.create({ ...named(SECRET, name), owner });
    }
    const [first = ''] = widgets;
    for (const space of spaces)
      world.deeds.create({ ...named(NAMESPACE, space), owner: named(WIDGET, first) });
    const undefine = (): void => {
      world.cluster.patch(DEFINITION, definition.name, { metadata: { finalizers: [] } }, false);
      world.kinds.splice(world.kinds.indexOf(WIDGET), 1);
    };
    /** What the API server does when somebody deletes a definition, and installs it again. */
    const stages: readonly (() => void)[] = [
      () => world.deeds.delete(definition, 'Background'),
      () => world.deeds.delete(named(WIDGET, first), 'Background'),
      () => {
        for (const widget of widgets.slice(1)) world.deeds.delete(named(WIDGET, widget), 'Background');
      },
      undefine,
      define,
    ];
    return { world, stages };
  }

  function expectAllThere(world: ClusterWorld, when: string): void {
    const gone = children.filter((name) => ownersOf(world, SECRET, name) !== 1);
    expect([when, gone]).toEqual([when, []]);
    for (const space of spaces) expect([space, ownersOf(world, NAMESPACE, space)]).toEqual([space, 1]);
  }

  async function played(world: ClusterWorld, stage: () => void): Promise<void> {
    stage();
    await world.pass(40);
  }

  async function killedAt(world: ClusterWorld, stage: () => void, isAway: boolean): Promise<void> {
    await (isAway ? world.end() : world.begin());
    await played(world, stage);
    await world.begin();
  }

  test('nothing goes while it is not served, nor when it is back; and all of it is told as held', async () => {
    const { world, stages } = owning();
    await world.begin();
    for (const stage of stages) {
      await world.pass(3);
      stage();
      await world.pass(40);
      expectAllThere(world, 'later');
    }
    expect(children.map((name) => world.verdicts.get(name))).toEqual(children.map(() => 'hold S3'));
  });

  /** That it was away for all of it nobody can know: then S1 and S2 alone hold. */
  test.each(
    [1, 2, 3, 4].flatMap((stage) => [
      { stage, isAway: false },
      { stage, isAway: true },
    ]),
  )('nothing goes where the agent is killed at a stage, and is away for it or not: %o', async (killed) => {
    const { world, stages } = owning();
    await world.begin();
    for (const [number, stage] of stages.entries()) {
      await world.pass(3);
      await (number === killed.stage ? killedAt(world, stage, killed.isAway) : played(world, stage));
    }
    await world.begin();
    await world.pass(60);
    expectAllThere(world, 'in the end');
    expect(children.map((name) => world.verdicts.get(name))).toEqual(children.map(() => 'hold S3'));
  });

  test('what a list lacks whose definition is being deleted went with it, and so did what nobody saw', async () => {
    const { world, stages } = owning();
    await world.begin();
    await world.pass(3);
    stages[0]?.();
    await world.pass(3);
    world.watches.deafen();
    stages[1]?.();
    stages[2]?.();
    world.watches.expire();
    await world.pass(10);
    expectAllThere(world, 'after the list');
    await world.begin();
    await world.pass(10);
    const late = { metadata: { name: 'late', ownerReferences: [absent] } };
    world.cluster.create(SECRET, 'default', late, false);
    await world.pass(10);
    expectAllThere(world, 'after a restart');
    expect(ownersOf(world, SECRET, 'late')).toBe(1);
  });

  test('[cluster S1] whoever was away for all of it holds what is wider than the limit for the kind, from the first to the last', async () => {
    const { world, stages } = owning({ ...clusterPolicy().limits, cascadeOfKind: 10 });
    for (const stage of stages) stage();
    await world.begin();
    await world.pass(60);
    expectAllThere(world, 'at the first start');
    await world.begin();
    await world.pass(60);
    expectAllThere(world, 'at the second start');
    expect(children.map((name) => world.verdicts.get(name))).toEqual(children.map(() => 'hold S1'));
  });
});

test('[cluster S1] what is held as too wide is held after a restart too, though less is left of it by then', async () => {
  const world = new ClusterWorld();
  world.policy = clusterPolicy({ limits: { ...clusterPolicy().limits, cascade: 3 } });
  const owner = world.deeds.create(named(CONFIG_MAP, 'wide'));
  const children = names('child', 5);
  for (const name of children) world.deeds.create({ ...named(SECRET, name), owner });
  await world.begin();
  await world.pass(3);
  world.deeds.delete(owner, 'Background');
  await world.pass(10);
  expect(world.verdicts.get('child-4')).toBe('hold S1');
  for (const name of children.slice(0, 3)) world.deeds.delete(named(SECRET, name), 'Background');
  await world.begin();
  await world.pass(30);
  expect(['child-3', 'child-4'].map((name) => ownersOf(world, SECRET, name))).toEqual([1, 1]);
});
