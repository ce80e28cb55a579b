import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Owner, Propagation } from '../../../lab/sim/api-server/cluster.ts';
import { type ApiObject, type Change, CONFIG_MAP, SECRET } from '../../../lab/sim/api-server/objects.ts';
import { runs } from '../../support/property-runs.ts';
import { ClusterWorld } from './support/cluster-world.ts';

const OWNERS = 4;

type Step =
  | { readonly do: 'make'; readonly owner: number; readonly second: number | null }
  | { readonly do: 'delete'; readonly owner: number; readonly propagation: Propagation }
  /** At the step of this number, before or after it came about. */
  | { readonly do: 'kill'; readonly at: number; readonly isAfter: boolean }
  | { readonly do: 'begin' | 'join' | 'log-away' | 'log-back' | 'deafen' | 'expire' }
  | { readonly do: 'pass'; readonly seconds: number };

const owner = fc.nat({ max: OWNERS - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('make' as const), owner, second: fc.option(owner, { freq: 2 }) }),
  fc.record({ do: fc.constant('make' as const), owner, second: fc.constant(null) }),
  fc.record({
    do: fc.constant('delete' as const),
    owner,
    propagation: fc.constantFrom<Propagation>('Background', 'Background', 'Foreground', 'Orphan'),
  }),
  fc.record({ do: fc.constant('kill' as const), at: fc.integer({ min: 1, max: 12 }), isAfter: fc.boolean() }),
  fc.record({ do: fc.constantFrom('begin', 'join', 'log-away', 'log-back', 'deafen', 'expire') }),
  fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 6 }) }),
);

const named = (kind: typeof CONFIG_MAP, name: string): Owner => ({
  kind,
  name: { namespace: 'default', name },
});

/** What happened to the cluster, judged apart from the product: who owned whom when it went, and who had it deleted. */
class Truth {
  readonly wrong: string[] = [];
  /** Uids of owners that went so that their dependents stay. */
  readonly #orphaned = new Set<string>();
  readonly #world: ClusterWorld;
  #isByPeople = false;
  #made = 0;

  constructor(world: ClusterWorld) {
    this.#world = world;
    world.cluster.store.onChange((change) => this.#judge(change));
  }

  /** Somebody else than the collector. */
  byPeople(deed: () => void): void {
    this.#isByPeople = true;
    deed();
    this.#isByPeople = false;
  }

  make(owners: readonly Owner[]): void {
    for (const each of owners) if (!this.#world.deeds.isThere(each)) this.#world.deeds.create(each);
    const ownerReferences = owners.map((each) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: each.name.name,
      uid: this.#world.deeds.uidOf(each),
      blockOwnerDeletion: true,
    }));
    const metadata = { name: `d-${++this.#made}`, ownerReferences };
    expect(this.#world.cluster.create(SECRET, 'default', { metadata }, false).status).toBe(201);
  }

  delete(each: Owner, propagation: Propagation): void {
    if (!this.#world.deeds.isThere(each)) return;
    this.#world.deeds.delete(each, propagation);
  }

  /** What should have gone by now, or lost a reference. */
  leftOver(): readonly string[] {
    const { store } = this.#world.cluster;
    const waiting = store
      .list(CONFIG_MAP, null)
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const dangling = store
      .list(SECRET, null)
      .filter((object) => uidsOf(object).some((uid) => this.#find(uid) === undefined));
    return [...waiting, ...dangling].map(({ metadata }) => metadata.name);
  }

  #judge({ type, kind, object }: Change): void {
    if (kind === CONFIG_MAP && this.#isByPeople) this.#noteWish(type, object);
    if (this.#isByPeople || kind !== SECRET || type !== 'DELETED') return;
    const uids = uidsOf(object);
    const holders = uids.filter((uid) => holds(this.#find(uid)));
    const freed = uids.filter((uid) => this.#orphaned.has(uid));
    if (uids.length === 0 || holders.length > 0 || freed.length > 0)
      this.wrong.push(
        `${object.metadata.name} went, of ${uids.join(' ')}; held by ${holders}; freed by ${freed}`,
      );
  }

  /** Who deletes an owner once more, in another way, has changed his mind. */
  #noteWish(type: Change['type'], { metadata: { uid, finalizers } }: ApiObject): void {
    if (type !== 'DELETED' && finalizers.includes('orphan')) this.#orphaned.add(uid);
    else this.#orphaned.delete(uid);
  }

  #find(uid: string): ApiObject | undefined {
    return this.#world.cluster.store.list(CONFIG_MAP, null).find(({ metadata }) => metadata.uid === uid);
  }
}

const uidsOf = ({ metadata }: ApiObject): readonly string[] =>
  metadata.ownerReferences.flatMap((reference) => ('uid' in reference ? String(reference.uid) : []));

/** It is there, and does not wait for its dependents to go. */
const holds = (each: ApiObject | undefined): boolean =>
  each !== undefined && !each.metadata.finalizers.includes('foregroundDeletion');

async function play(world: ClusterWorld, truth: Truth, one: Step): Promise<void> {
  const at = (number: number): Owner => named(CONFIG_MAP, `o-${number}`);
  switch (one.do) {
    case 'make':
      return truth.byPeople(() =>
        truth.make(
          one.second === null || one.second === one.owner ? [at(one.owner)] : [at(one.owner), at(one.second)],
        ),
      );
    case 'delete':
      return truth.byPeople(() => truth.delete(at(one.owner), one.propagation));
    case 'kill':
      await world.begin({ at: one.at, isAfter: one.isAfter });
      return;
    case 'begin':
      await world.begin();
      return;
    case 'join':
      world.join();
      return;
    case 'log-away':
    case 'log-back':
      world.isLogAway = one.do === 'log-away';
      return;
    case 'deafen':
      return world.watches.deafen();
    case 'expire':
      return world.watches.expire();
    case 'pass':
      return world.pass(one.seconds);
  }
}

test('[cluster D10, D14, D15, E1, S6] whatever is killed, doubled, cut off or silent, nothing goes that an owner holds or left behind, and in the end nothing is left over', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 22 }), async (steps) => {
      const world = new ClusterWorld();
      const truth = new Truth(world);
      await world.begin();
      for (const one of steps) await play(world, truth, one);
      world.isLogAway = false;
      await world.begin();
      await world.pass(25);
      await world.end();
      expect(truth.wrong).toEqual([]);
      expect(truth.leftOver()).toEqual([]);
    }),
    runs(100),
  );
});
