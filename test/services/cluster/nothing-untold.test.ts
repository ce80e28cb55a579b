import { describe, expect, test } from 'vitest';
import type { Owner } from '../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP, SECRET } from '../../../lab/sim/api-server/objects.ts';
import { recentResults } from '../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy } from '../../fixtures/cluster.ts';
import { ClusterWorld } from './support/cluster-world.ts';

const named = (kind: Owner['kind'], name: string): Owner => ({ kind, name: { namespace: 'default', name } });
const CHILDREN = ['one', 'two', 'three'];
const SHARED = 'shared';

/** An owner goes: what it alone owned is to be deleted, and what another one owns too loses a reference. */
function cascade() {
  const world = new ClusterWorld();
  const owner = world.deeds.create(named(CONFIG_MAP, 'owner'));
  const other = world.deeds.create(named(CONFIG_MAP, 'other'));
  for (const name of CHILDREN) world.deeds.create({ ...named(SECRET, name), owner });
  world.deeds.create({ ...named(SECRET, SHARED), owner });
  world.cluster.patch(
    SECRET,
    named(SECRET, SHARED).name,
    { metadata: { ownerReferences: [referenceTo(world, owner), referenceTo(world, other)] } },
    false,
  );
  const before = stateOf(world);
  return { world, before, begin: () => world.deeds.delete(owner, 'Background') };
}

function referenceTo(world: ClusterWorld, { kind, name }: Owner) {
  const uid = world.cluster.store.get(kind, name)?.metadata.uid ?? '';
  return { apiVersion: 'v1', kind: kind.kind, name: name.name, uid };
}

/** By uid, the version of each dependent. */
const stateOf = (world: ClusterWorld): ReadonlyMap<string, string> =>
  new Map(
    [...CHILDREN, SHARED].flatMap((name) => {
      const metadata = world.cluster.store.get(SECRET, named(SECRET, name).name)?.metadata;
      return metadata === undefined ? [] : [[metadata.uid, metadata.resourceVersion] as const];
    }),
  );

/** Uids of what is not as it was: in this world nobody but the executor changes a dependent. */
function changed(world: ClusterWorld, before: ReadonlyMap<string, string>): readonly string[] {
  const after = stateOf(world);
  return [...before].filter(([uid, version]) => after.get(uid) !== version).map(([uid]) => uid);
}

const TELLS: readonly string[] = ['removed', 'accepted', 'patched', 'not-found', 'failed'];

/** Uids of what results say was done, or may have been. */
const told = ({ results }: ClusterWorld): ReadonlySet<string> =>
  new Set(
    results.flatMap((event) =>
      event.type !== 'fleetgc.cluster.object-results'
        ? []
        : event.objects
            .filter(({ result }) => TELLS.includes(result.outcome))
            .map(({ object }) => object.uid),
    ),
  );

const untold = (world: ClusterWorld, before: ReadonlyMap<string, string>): readonly string[] =>
  changed(world, before).filter((uid) => !told(world).has(uid));

const openIn = ({ results }: ClusterWorld): number =>
  recentResults(results).open.reduce((sum, { objects }) => sum + objects.size, 0);

/** Commands that were announced or told of, and have no result. */
const unanswered = ({ results }: ClusterWorld): readonly string[] => {
  const answered = new Set(
    results.flatMap(({ type, commandId }) => (type === 'fleetgc.cluster.command-result' ? [commandId] : [])),
  );
  return [...new Set(results.map(({ commandId }) => commandId))].filter((id) => !answered.has(id));
};

const underPolicy =
  (policy: Parameters<typeof clusterPolicy>[0]) =>
  (world: ClusterWorld): void => {
    world.policy = clusterPolicy(policy);
  };

/** Where the next executor finds its orders, and whether they still hold. */
const AFTERWARDS: readonly (readonly [string, (world: ClusterWorld) => Promise<void> | void])[] = [
  ['the orders still hold', () => undefined],
  ['the policy changed', underPolicy({ terminatedPodGCThreshold: 1 })],
  ['nothing may be changed any more', underPolicy({ mode: 'dry-run' })],
  ['the orders have expired', (world) => world.pass(700)],
  ['the orders are not to be read any more', (world) => world.loseCommands()],
];
/** Longer than any command lives, and than any request of it can be under way. */
const OVER_SECONDS = 680;

describe.each(AFTERWARDS)('an executor is killed, and then %s', (_, afterwards) => {
  test.each([false, true])(
    'nothing that it did stays untold, whatever step was its last (done: %s)',
    async (isAfter) => {
      let deaths = 0;
      for (let at = 1; at < 80; at++) {
        const { world, before, begin } = cascade();
        const life = await world.begin({ at, isAfter });
        await world.pass(3);
        begin();
        await world.pass(5);
        const isDead = life.isDead;
        await world.end();
        await afterwards(world);
        await world.begin();
        await world.pass(6);
        expect([at, untold(world, before)]).toEqual([at, []]);
        if (at % 7 === 0) {
          await world.pass(OVER_SECONDS);
          expect([at, openIn(world), unanswered(world)]).toEqual([at, 0, []]);
        }
        await world.end();
        if (!isDead) break;
        deaths++;
      }
      expect(deaths).toBeGreaterThan(7);
    },
  );
});
