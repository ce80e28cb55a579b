import { describe, expect, test, vi } from 'vitest';
import type { Owner } from '../../../lab/sim/api-server/cluster.ts';
import { type ApiObject, CONFIG_MAP, LEASE } from '../../../lab/sim/api-server/objects.ts';
import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { clusterPolicy } from '../../fixtures/cluster.ts';
import { ClusterWorld } from './support/cluster-world.ts';

/** Whole lives of owners and what they own, as the end-to-end tests of Kubernetes have them; in both profiles. */
const PROFILES = ['fleetgc', 'kubernetes'] as const;

const NODE: ApiKind = { group: '', version: 'v1', kind: 'Node', resource: 'nodes', namespaced: false };

interface Made {
  readonly owners?: readonly string[];
  readonly finalizers?: readonly string[];
  /** Whether it holds its owners back; so if nothing is said. */
  readonly blocks?: boolean;
}

/** A cluster of ConfigMaps, named by what they are in the story. */
class Story {
  readonly world = new ClusterWorld();
  /** What went, in order, each with the names of those that listed it at that moment. */
  readonly gone: { readonly name: string; readonly left: readonly string[] }[] = [];

  constructor(profile: (typeof PROFILES)[number]) {
    this.world.policy = clusterPolicy({ profile });
    this.world.cluster.store.onChange(({ type, object: { metadata } }) => {
      if (type === 'DELETED') this.gone.push({ name: metadata.name, left: this.#listing(metadata.uid) });
    });
  }

  make(name: string, { owners = [], finalizers = [], blocks = true }: Made = {}): void {
    const ownerReferences = owners.map((owner) => referenceTo(this.#found(owner), blocks));
    const metadata = { name, finalizers, ownerReferences };
    expect(this.world.cluster.create(CONFIG_MAP, 'default', { metadata }, false).status).toBe(201);
  }

  patch(name: string, metadata: object): void {
    const { status } = this.world.cluster.patch(CONFIG_MAP, named(name).name, { metadata }, false);
    expect(status).toBe(200);
  }

  /** The last one of a ring names the first one, which was there before it. */
  closeRing(first: string, last: string): void {
    this.patch(first, { ownerReferences: [referenceTo(this.#found(last), true)] });
  }

  delete(name: string, propagation: 'Background' | 'Foreground' | 'Orphan'): void {
    this.world.deeds.delete(named(name), propagation);
  }

  isThere(name: string): boolean {
    return this.world.deeds.isThere(named(name));
  }

  isDeleting(name: string): boolean {
    return this.#found(name).metadata.deletionTimestamp !== undefined;
  }

  /** Names of the owners that it lists. */
  ownersOf(name: string): readonly string[] {
    return this.#found(name).metadata.ownerReferences.map((each) =>
      'name' in each ? String(each.name) : '',
    );
  }

  until(what: string, isSo: () => boolean, seconds?: number): Promise<void> {
    return this.world.passUntil(what, isSo, seconds);
  }

  #listing(uid: string): readonly string[] {
    return this.world.cluster.store
      .list(CONFIG_MAP, null)
      .filter(({ metadata }) => metadata.ownerReferences.some((each) => 'uid' in each && each.uid === uid))
      .map(({ metadata }) => metadata.name);
  }

  #found(name: string): ApiObject {
    const object = this.world.cluster.store.get(CONFIG_MAP, named(name).name);
    if (object === undefined) throw new Error(`there is no ${name}`);
    return object;
  }
}

const named = (name: string): Owner => ({ kind: CONFIG_MAP, name: { namespace: 'default', name } });
const referenceTo = ({ metadata: { name, uid } }: ApiObject, blockOwnerDeletion: boolean): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  blockOwnerDeletion,
});
const namesOf = ({ gone }: Story): readonly string[] => gone.map(({ name }) => name);

describe.each(PROFILES)('in profile %s', (profile) => {
  test('[cluster G6] background: the owner goes first, then one after the other as its own finalizers say', async () => {
    const story = new Story(profile);
    story.make('owner');
    story.make('child', { owners: ['owner'] });
    story.make('grandchild', { owners: ['child'] });
    story.make('leaves-its-own', { owners: ['owner'], finalizers: ['orphan'] });
    story.make('left', { owners: ['leaves-its-own'] });
    await story.world.begin();
    await story.world.pass(3);
    story.delete('owner', 'Background');
    await story.until('all to go', () => namesOf(story).length === 4);
    await story.world.pass(5);
    expect(story.gone[0]).toEqual({ name: 'owner', left: ['child', 'leaves-its-own'] });
    expect(namesOf(story).indexOf('grandchild')).toBeGreaterThan(namesOf(story).indexOf('child'));
    expect(story.ownersOf('left')).toEqual([]);
  });

  test('[cluster G7, G8] foreground: the owner goes last; orphan: when nobody lists it, and they live', async () => {
    const story = new Story(profile);
    for (const owner of ['foreground', 'orphan']) {
      story.make(owner);
      for (const child of ['a', 'b']) story.make(`${owner}-${child}`, { owners: [owner] });
      story.make(`${owner}-below`, { owners: [`${owner}-a`] });
    }
    await story.world.begin();
    await story.world.pass(3);
    story.delete('foreground', 'Foreground');
    story.delete('orphan', 'Orphan');
    await story.until('both to go', () => !story.isThere('foreground') && !story.isThere('orphan'));
    await story.world.pass(5);
    expect(namesOf(story).toSorted()).toEqual([
      'foreground',
      'foreground-a',
      'foreground-b',
      'foreground-below',
      'orphan',
    ]);
    expect(story.gone.filter(({ left }) => left.length > 0)).toEqual([]);
    expect(['orphan-a', 'orphan-b', 'orphan-below'].map((name) => story.ownersOf(name))).toEqual([
      [],
      [],
      ['orphan-a'],
    ]);
  });

  test('[cluster G9] with a living owner beside one that waits it stays, and lets that one go', async () => {
    const story = new Story(profile);
    story.make('waits');
    story.make('lives');
    story.make('shared', { owners: ['waits', 'lives'] });
    await story.world.begin();
    await story.world.pass(3);
    story.delete('waits', 'Foreground');
    await story.until('the owner to go', () => !story.isThere('waits'));
    await story.world.pass(5);
    expect([story.ownersOf('shared'), story.isDeleting('shared'), namesOf(story)]).toEqual([
      ['lives'],
      false,
      ['waits'],
    ]);
  });

  test("[cluster G10] somebody's finalizer on what blocks an owner holds that owner too, as long as it is there", async () => {
    const story = new Story(profile);
    story.make('owner');
    story.make('stuck', { owners: ['owner'], finalizers: ['example.com/held'] });
    await story.world.begin();
    await story.world.pass(3);
    story.delete('owner', 'Foreground');
    await story.world.pass(700);
    expect([story.isDeleting('owner'), story.isDeleting('stuck'), namesOf(story)]).toEqual([true, true, []]);
    story.patch('stuck', { finalizers: [] });
    await story.until('the owner to go', () => !story.isThere('owner'));
    expect(namesOf(story)).toEqual(['stuck', 'owner']);
  });

  test('[cluster G11] a ring of objects that block one another goes as a whole', async () => {
    const story = new Story(profile);
    story.make('a');
    story.make('b', { owners: ['a'] });
    story.make('c', { owners: ['b'] });
    story.closeRing('a', 'c');
    story.make('beside', { owners: ['c'] });
    await story.world.begin();
    await story.world.pass(3);
    story.delete('a', 'Foreground');
    await story.until('all to go', () => namesOf(story).length === 4);
    expect(namesOf(story).toSorted()).toEqual(['a', 'b', 'beside', 'c']);
  });

  test('[cluster G12] what comes during a foreground deletion holds the owner if it is seen in time, and goes in any case', async () => {
    const story = new Story(profile);
    story.make('owner');
    story.make('stuck', { owners: ['owner'], finalizers: ['example.com/held'] });
    await story.world.begin();
    await story.world.pass(3);
    story.delete('owner', 'Foreground');
    await story.world.pass(3);
    story.make('seen', { owners: ['owner'], finalizers: ['example.com/held'] });
    await story.until('the late one to be deleted', () => story.isDeleting('seen'));
    story.patch('stuck', { finalizers: [] });
    await story.world.pass(10);
    expect([story.isThere('owner'), namesOf(story)]).toEqual([true, ['stuck']]);
    story.world.isLogAway = true;
    story.patch('seen', { finalizers: [] });
    await story.world.pass(3);
    story.world.watches.deafen();
    story.make('unseen', { owners: ['owner'] });
    story.world.isLogAway = false;
    await story.until('the owner to go', () => !story.isThere('owner'));
    expect(story.gone.at(-1)).toEqual({ name: 'owner', left: ['unseen'] });
    story.world.watches.expire();
    await story.until('the one that was not seen to go', () => !story.isThere('unseen'));
  });

  test('[cluster A8, C2] what is first seen while it is being deleted, or never, counts as what was seen before', async () => {
    const story = new Story(profile);
    const born = (suffix: string): void => {
      for (const owner of ['foreground', 'orphan', 'background']) {
        story.make(`${owner}-${suffix}`);
        story.make(`of-${owner}-${suffix}`, { owners: [`${owner}-${suffix}`] });
      }
      story.delete(`foreground-${suffix}`, 'Foreground');
      story.delete(`orphan-${suffix}`, 'Orphan');
      story.delete(`background-${suffix}`, 'Background');
    };
    const expectDone = async (suffix: string): Promise<void> => {
      const names = ['foreground', 'of-foreground', 'orphan', 'background', 'of-background'];
      await story.until('them to go', () => names.every((name) => !story.isThere(`${name}-${suffix}`)));
      expect(story.ownersOf(`of-orphan-${suffix}`)).toEqual([]);
    };
    born('before-the-start');
    await story.world.begin();
    await expectDone('before-the-start');
    story.world.watches.deafen();
    born('while-deaf');
    story.world.watches.expire();
    await expectDone('while-deaf');
  });

  test('[cluster E2, G8] a dependent that cannot be patched is tried again, and its owner stays until then', async () => {
    const story = new Story(profile);
    story.make('owner');
    for (const name of ['a', 'b', 'c']) story.make(name, { owners: ['owner'] });
    await story.world.begin();
    await story.world.pass(3);
    const { cluster } = story.world;
    const patch = cluster.patch.bind(cluster);
    let failures = 0;
    const patched = vi
      .spyOn(cluster, 'patch')
      .mockImplementation((kind, name, body, isDryRun) =>
        name.name === 'b' && ++failures <= 9 ? { status: 503, body: {} } : patch(kind, name, body, isDryRun),
      );
    story.delete('owner', 'Orphan');
    await story.until('the owner to go', () => !story.isThere('owner'));
    expect(failures).toBe(10);
    expect(patched.mock.calls.map(([, { name }]) => name).filter((name) => name !== 'b')).toEqual([
      'a',
      'c',
      'owner',
    ]);
    expect(story.gone).toEqual([{ name: 'owner', left: [] }]);
    expect(['a', 'b', 'c'].flatMap((name) => story.ownersOf(name))).toEqual([]);
  });

  test('[cluster E5] what loses an owner that orphans is judged again by those that are left', async () => {
    const story = new Story(profile);
    for (const owner of ['orphan', 'waits', 'gone']) story.make(owner);
    story.make('of-waiting', { owners: ['orphan', 'waits'] });
    story.make('of-gone', { owners: ['orphan', 'gone'] });
    await story.world.begin();
    // What was told is told again then, and would be healed by that.
    await story.world.pass(40);
    story.delete('orphan', 'Orphan');
    story.delete('waits', 'Foreground');
    story.delete('gone', 'Background');
    await story.until('all to go', () => namesOf(story).length === 5, 20);
    expect(story.gone.filter(({ name }) => name === 'orphan' || name === 'waits')).toEqual([
      expect.objectContaining({ left: [] }),
      expect.objectContaining({ left: [] }),
    ]);
  });

  test('[cluster M9] the Lease of a node goes after its node, and no other', async () => {
    const world = new ClusterWorld([NODE]);
    world.policy = clusterPolicy({ profile });
    const leaseOf = (name: string): Owner => ({ kind: LEASE, name: { namespace: 'kube-node-lease', name } });
    const nodes = ['goes', 'stays'].map((name) =>
      world.deeds.create({ kind: NODE, name: { namespace: '', name } }),
    );
    for (const owner of nodes) world.deeds.create({ ...leaseOf(owner.name.name), owner });
    world.deeds.create(leaseOf('of-nobody'));
    await world.begin();
    await world.pass(3);
    for (const node of nodes.slice(0, 1)) world.deeds.delete(node, 'Background');
    await world.passUntil('the Lease to go', () => !world.deeds.isThere(leaseOf('goes')));
    await world.pass(30);
    expect(['stays', 'of-nobody'].map((name) => world.deeds.isThere(leaseOf(name)))).toEqual([true, true]);
  });
});
