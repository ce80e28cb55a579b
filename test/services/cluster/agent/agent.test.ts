import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { Census } from '../../../../schemas/events/census.ts';
import { Expiry } from '../../../../schemas/events/expiry.ts';
import { Ownership } from '../../../../schemas/events/ownership.ts';
import type { ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterAgent } from '../../../../services/cluster/agent/agent.ts';
import { type EarlierFacts, NO_EARLIER_FACTS } from '../../../../services/cluster/agent/earlier-facts.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { nextLook } from '../../../support/next-look.ts';
import { FakeCluster, KINDS } from './support/fake-cluster.ts';

const ref = (name: string, over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid: name,
  ...over,
});
const owned = (name: string, ...owners: string[]) => ({
  resource: 'secrets',
  name,
  metadata: { ownerReferences: owners.map((each) => ref(each)) },
});

/** An agent of a cluster with what `prepare` puts into it, when everything is read. */
async function agentOf(
  prepare: (cluster: FakeCluster) => void,
  publish: (fact: Ownership) => Promise<void> = async () => undefined,
  earlierFacts: EarlierFacts = NO_EARLIER_FACTS,
) {
  const watchEnds: string[] = [];
  const time = manualTime(() => 0);
  const nowMs = (): number => time.now().sinceBootMs;
  const cluster = new FakeCluster(nowMs);
  prepare(cluster);
  const facts: Ownership[] = [];
  const holding = { holds: 'policy' as string | null };
  const ruling = { policy: null as ClusterPolicyRecord | null };
  const expiries: Expiry[] = [];
  const censuses: Census[] = [];
  const stop = new AbortController();
  let ids = 0;
  const agent = new ClusterAgent('c1', {
    connection: cluster.connection(),
    publish: async (fact) => {
      if (fact.type === 'fleetgc.cluster.census') censuses.push(Census.parse(fact));
      if (fact.type === 'fleetgc.cluster.expiry') expiries.push(Expiry.parse(fact));
      if (fact.type !== 'fleetgc.cluster.ownership') return;
      await publish(fact);
      facts.push(Ownership.parse(fact));
    },
    policy: () => ruling.policy,
    earlierFacts: async () => earlierFacts,
    onWatchEnded: ({ kind }, { why }) => void watchEnds.push(`${kind} ${why}`),
    holds: () => holding.holds,
    sleep: time.sleep,
    random: () => 0,
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
    nowMs,
    logger: pino({ level: 'silent' }),
  });
  const ended = agent.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  /** What happened is seen, and no time passes. */
  const seen = async (): Promise<void> => {
    for (let look = 0; look < 8; look++) await nextLook(look);
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      await time.pass(1_000);
      await seen();
    }
  };
  /** Candidates of the facts since the last call, each with the states of its references. */
  const told = (): string[] => {
    const lines = facts
      .splice(0)
      .flatMap(({ candidates, settled }) => [
        ...candidates.map(
          ({ object, references }) => `${object.name}: ${references.map(({ state }) => state).join(' ')}`,
        ),
        ...settled.map(({ name, how }) => `${name} settled: ${how}`),
      ]);
    return lines.toSorted();
  };
  await pass(3);
  return { agent, cluster, pass, seen, told, facts, censuses, holding, ruling, expiries, watchEnds };
}

test('[cluster C14, D10] a dependent of an owner that is deleted is told, with all that a decision needs', async () => {
  const { cluster, pass, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  expect(facts).toEqual([]);
  cluster.remove('o');
  await pass(1);
  expect(facts).toMatchObject([
    {
      cluster: 'c1',
      clusterInstance: 'the-cluster',
      seq: 0,
      wentBack: false,
      totals: { kinds: 3, objects: 2 },
      candidates: [
        {
          object: { kind: 'Secret', resource: 'secrets', namespace: 'ns', name: 'd', uid: 'd', keptBy: null },
          references: [
            {
              uid: 'o',
              state: 'gone',
              resolved: { resource: 'configmaps' },
              gone: { how: 'watched', orphaned: false },
            },
          ],
          dependents: { count: 0, blocking: 0, oneWaits: false },
          cascades: [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 1, ofKind: 1, within: null }],
        },
      ],
    },
  ]);
});

test('[cluster S3] how an owner went before the agent began is told as if it had seen it, until the owner is back', async () => {
  const kind = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespaced: true };
  const owner = {
    kind,
    namespace: 'ns',
    name: 'o',
    how: 'kind-going',
    orphaned: false,
    within: null,
    isDeletionSeen: false,
  } as const;
  const { cluster, pass, facts } = await agentOf(
    (made) => made.put(owned('d', 'o')),
    async () => undefined,
    { ...NO_EARLIER_FACTS, gone: new Map([['o', owner]]) },
  );
  const gone = (): unknown[] =>
    facts
      .splice(0)
      .flatMap(({ candidates }) => candidates.flatMap(({ references }) => references[0]?.gone ?? []));
  expect(gone()).toEqual([{ how: 'kind-going', orphaned: false }]);
  cluster.put({ resource: 'configmaps', name: 'o' });
  await pass(1);
  cluster.remove('o');
  await pass(1);
  expect(gone()).toEqual([{ how: 'watched', orphaned: false }]);
});

test('[cluster A14, I11] what went while no agent ran is found at the start', async () => {
  const { told } = await agentOf((made) => made.put(owned('d', 'absent')));
  expect(told()).toEqual(['d: unseen']);
});

test('[cluster A10] a dependent that is seen before its owner is no candidate for a second', async () => {
  const { cluster, pass, told } = await agentOf(() => undefined);
  cluster.put(owned('d', 'o'));
  await pass(0);
  cluster.put({ resource: 'configmaps', name: 'o' });
  await pass(5);
  expect(told()).toEqual([]);
  cluster.put(owned('e', 'p'));
  await pass(5);
  expect(told()).toEqual(['e: unseen']);
});

test('[cluster I10] nothing is told of owners of a kind that was not listed yet', async () => {
  const { cluster, pass, told } = await agentOf((made) => {
    made.put(owned('d', 'absent'));
    made.refusals.set('configmaps', 500);
  });
  expect(told()).toEqual([]);
  await pass(7);
  expect(told()).toEqual([]);
  cluster.refusals.delete('configmaps');
  await pass(10);
  expect(told()).toEqual(['d: unseen']);
});

test('[cluster I10] an agent is ready when everything was listed, and not while the API server is silent', async () => {
  const { agent, cluster, pass } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  const rest = { pods: null, unpublishedForMs: 0 };
  expect(agent.problem()).toBeNull();
  expect(agent.figures).toEqual({ objects: 3, kinds: 3, unsyncedKinds: 0, candidates: 0, ...rest });
  cluster.remove('o');
  await pass(1);
  expect(agent.figures).toEqual({ objects: 2, kinds: 3, unsyncedKinds: 0, candidates: 1, ...rest });
  const known = agent.current();
  expect([known?.object('o'), known?.object('d')?.name, known?.wentBack]).toEqual([undefined, 'd', false]);
  expect(known?.candidate('d')?.references[0]?.state).toBe('gone');
  expect(known?.candidate('the-cluster')).toBeNull();
  cluster.isAway = true;
  await pass(100);
  expect(agent.problem()).toContain('has not answered');
});

test('[cluster B2] an object that two kinds tell of is read by who judges beside the agent: the second one could say what is not so', async () => {
  const { agent, cluster, seen } = await agentOf((made) => made.put(owned('d')));
  expect(agent.current()?.object('d')?.references).toEqual([]);
  const metadata = { name: 'd', namespace: 'ns', uid: 'd', resourceVersion: String(cluster.version) };
  cluster.tell('configmaps', {
    type: 'ADDED',
    object: { metadata: { ...metadata, ownerReferences: [ref('absent')] } },
  });
  await seen();
  expect(agent.current()?.object('d')).toBeUndefined();
  cluster.tell('configmaps', { type: 'DELETED', object: { metadata } });
  await seen();
  expect(agent.current()?.candidate('d')).not.toBeNull();
  expect(agent.current()?.object('d')).toBeUndefined();
});

test('[cluster I7, I8] a kind that cannot be listed stops nobody else, and in half a minute only a live read counts', async () => {
  const { cluster, pass, told, facts } = await agentOf((made) => {
    made.put({ resource: 'namespaces', name: 'n' });
    made.put(owned('d', 'o'));
    made.put({ ...owned('e'), metadata: { ownerReferences: [ref('n', { kind: 'Namespace' })] } });
    made.refusals.set('configmaps', 403);
  });
  cluster.remove('n');
  await pass(1);
  expect(facts[0]?.unsyncedKinds).toMatchObject([
    { kind: 'ConfigMap', reason: expect.stringContaining('403') },
  ]);
  expect(told()).toEqual(['e: gone']);
  await pass(65);
  expect(told()).toEqual(['d: unlisted']);
});

test('[cluster A7, A14] what went while the watch was cut is found by the next list', async () => {
  const { cluster, pass, told, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.silence();
  cluster.remove('o');
  await pass(2);
  expect(facts).toEqual([]);
  cluster.expireWatches();
  await pass(5);
  expect(facts[0]?.candidates[0]?.references[0]?.gone).toEqual({ how: 'relisted', orphaned: false });
  expect(told()).toEqual(['d: gone']);
});

test('[cluster A13] a deletion that names no uid has its kind listed again, and what went counts', async () => {
  const { cluster, pass, told, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
    made.put({ resource: 'configmaps', name: 'p' });
    made.put(owned('e', 'p'));
  });
  cluster.silence();
  cluster.remove('o');
  cluster.tell('configmaps', { type: 'DELETED', object: { metadata: { name: 'p', namespace: 'ns' } } });
  await pass(5);
  expect(facts[0]?.candidates[0]?.references[0]?.gone).toEqual({ how: 'relisted', orphaned: false });
  expect(told()).toEqual(['d: gone']);
});

test.each([
  { status: 503, headers: {}, body: 'not now' },
  { status: 200, headers: {}, body: '{"kind":"APIGroupList","groups":[]}' },
])(
  '[cluster I4] of what is served nothing changes while a part of it is not told: $status',
  async (answer) => {
    const { agent, cluster, pass } = await agentOf((made) => made.put({ resource: 'configmaps', name: 'o' }));
    const known = () => [agent.figures?.kinds, agent.current()?.object('o')?.name];
    const { configmaps: _, ...others } = cluster.kinds;
    cluster.kinds = others;
    cluster.groupsRefusal = answer;
    await pass(100);
    expect(known()).toEqual([3, 'o']);
    cluster.groupsRefusal = null;
    await pass(60);
    expect(known()).toEqual([2, undefined]);
  },
);

test('[cluster S3] a cluster that was restored is read anew, and its facts say so for ten minutes', async () => {
  const { cluster, pass, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.silence();
  cluster.remove('o');
  cluster.goBack(50);
  cluster.expireWatches();
  await pass(10);
  expect(facts).toMatchObject([
    { wentBack: true, seq: 0, candidates: [{ references: [{ state: 'unseen' }] }] },
  ]);
  await pass(601);
  expect(facts.at(-1)?.wentBack).toBe(false);
});

/** An owner with its dependent, which both go after `remember` was called; and one more dependent. */
async function restored() {
  let goBack = (): void => undefined;
  const all = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
    goBack = made.remember();
  });
  all.cluster.remove('o');
  all.cluster.remove('d');
  await all.pass(1);
  all.facts.splice(0);
  return { ...all, goBack: () => goBack() };
}

test('[cluster S3] a restore is seen as soon as a watch ends, before the versions have caught up', async () => {
  const { cluster, pass, agent, goBack } = await restored();
  goBack();
  cluster.goBack(cluster.version - 2);
  cluster.closeWatches();
  await pass(3);
  expect(agent.current()?.wentBack).toBe(true);
  expect(agent.current()?.object('o')?.name).toBe('o');
});

test('[cluster S3] a restore that lets versions jump ahead is seen by an object that is back', async () => {
  const { cluster, pass, agent, goBack } = await restored();
  goBack();
  cluster.goBack(1_000_000);
  cluster.expireWatches();
  await pass(5);
  expect(agent.current()?.wentBack).toBe(true);
});

test('[cluster S3] and by one that is in an older state than it was', async () => {
  let goBack = (): void => undefined;
  const { cluster, pass, agent } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d'));
    goBack = made.remember();
  });
  cluster.put(owned('d', 'o'));
  await pass(1);
  goBack();
  cluster.goBack(1_000_000);
  cluster.expireWatches();
  await pass(5);
  expect(agent.current()?.wentBack).toBe(true);
});

test('[cluster S3] a server of an aggregated API that counts versions anew tells of no restore', async () => {
  const widget = (type: string, resourceVersion: string) => ({
    type,
    object: { metadata: { name: 'w', namespace: 'ns', uid: 'w', resourceVersion } },
  });
  const { cluster, pass, agent } = await agentOf((made) => {
    made.kinds = { ...KINDS, widgets: { group: 'example.com', kind: 'Widget', namespaced: true } };
    made.put({ resource: 'widgets', name: 'w' });
  });
  cluster.versions.set('widgets', '5');
  cluster.expireWatches();
  await pass(5);
  expect(agent.current()?.wentBack).toBe(false);
  cluster.tell('widgets', widget('MODIFIED', '3'));
  cluster.tell('widgets', widget('DELETED', '4'));
  cluster.tell('widgets', widget('ADDED', '1'));
  await pass(5);
  expect(agent.current()?.wentBack).toBe(false);
  expect(agent.current()?.object('w')?.resourceVersion).toBe('1');
  cluster.closeWatches();
  cluster.versions.set('widgets', '0');
  await pass(5);
  expect(agent.current()?.wentBack).toBe(false);
});

test('watches that end go on from where they were, and nothing is listed again', async () => {
  const { cluster, pass, told, agent } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.asked.splice(0);
  cluster.closeWatches();
  cluster.remove('o');
  cluster.put({ resource: 'configmaps', name: 'later' });
  await pass(2);
  expect(agent.current()?.wentBack).toBe(false);
  expect(told()).toEqual([]);
  expect(cluster.asked.some(({ path }) => path.includes('limit=500'))).toBe(false);
});

test('watches that are silent for minutes go on from where they were, and nothing is listed again', async () => {
  const { cluster, pass, told } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.asked.splice(0);
  await pass(5 * 60);
  const paths = cluster.asked.map(({ path }) => path);
  expect(paths.filter((path) => /configmaps\?.*watch=true/.test(path))).toHaveLength(1);
  expect(paths.some((path) => path.includes('limit=500'))).toBe(false);
  cluster.remove('o');
  await pass(2);
  expect(told()).toEqual(['d: gone']);
});

test('[cluster A7] what a proxy on the way holds back of watches is found by a list, after about an hour of silence', async () => {
  const { cluster, pass, told, watchEnds } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.silence();
  cluster.remove('o');
  cluster.put({ resource: 'configmaps', name: 'later' });
  await pass(30 * 60);
  expect(told()).toEqual([]);
  cluster.asked.splice(0);
  await pass(35 * 60);
  expect(told()).toEqual(['d: gone']);
  const lists = cluster.asked.filter(({ path }) => /configmaps\?.*limit=500/.test(path));
  expect(lists).toHaveLength(1);
  expect(watchEnds.filter((end) => end.endsWith('held-back'))).toEqual(['ConfigMap held-back']);
});

describe('an API server that has too much to do, or does not know us', () => {
  test.each([
    [429, 30],
    [401, 1],
  ])(
    '[cluster F4] with %i for a watch: it is asked again after the %i s that it wants, and nothing else follows',
    async (status, retryAfter) => {
      const { cluster, pass, facts, agent } = await agentOf((made) => {
        made.put({ resource: 'configmaps', name: 'o' });
        made.put(owned('d', 'o'));
      });
      cluster.asked.splice(0);
      cluster.watchRefusals.set('secrets', status);
      if (status === 429) cluster.retryAfter = retryAfter;
      cluster.closeWatches();
      await pass(100);
      const askedOf = (what: RegExp) => cluster.asked.filter(({ path }) => what.test(path)).length;
      expect(askedOf(/secrets\?.*watch=true/)).toBeGreaterThan(1);
      expect(askedOf(/secrets\?.*watch=true/)).toBeLessThanOrEqual(status === 429 ? 4 : 12);
      expect(askedOf(/limit=500/)).toBe(0);
      expect(facts.flatMap(({ unsyncedKinds }) => unsyncedKinds)).toEqual([]);
      expect(agent.problem()).toBeNull();
      cluster.watchRefusals.clear();
      await pass(35);
      cluster.asked.splice(0);
      await pass(60);
      expect(askedOf(/secrets/)).toBe(0);
    },
  );

  test('[cluster F4] with 429 for a list: it is asked again after the time that it wants, and others go on', async () => {
    const { cluster, pass, told } = await agentOf((made) => {
      made.put({ resource: 'namespaces', name: 'n' });
      made.put({ ...owned('e'), metadata: { ownerReferences: [ref('n', { kind: 'Namespace' })] } });
      made.refusals.set('configmaps', 429);
      made.retryAfter = 20;
    });
    cluster.remove('n');
    await pass(1);
    expect(told()).toEqual(['e: gone']);
    cluster.asked.splice(0);
    await pass(100);
    const asked = cluster.asked.filter(({ path }) => path.includes('configmaps')).length;
    expect(asked).toBeGreaterThan(2);
    expect(asked).toBeLessThanOrEqual(5);
  });
});

test('[cluster I8] a kind whose watch was refused once counts as read again when it is watched', async () => {
  const { cluster, pass, facts, told } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.watchRefusals.set('configmaps', 500);
  cluster.closeWatches();
  await pass(5);
  cluster.watchRefusals.clear();
  await pass(35);
  told();
  cluster.remove('o');
  await pass(2);
  expect(facts.at(-1)?.unsyncedKinds).toEqual([]);
  expect(told()).toEqual(['d: gone']);
});

test('[cluster S3] a cluster that takes the place of another one is read anew, under its own name', async () => {
  const { cluster, pass, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put(owned('d', 'o'));
  });
  cluster.remove('the-cluster');
  cluster.put({ resource: 'namespaces', name: 'kube-system', uid: 'another-cluster' });
  await pass(5);
  cluster.remove('o');
  await pass(5);
  expect(facts.at(-1)).toMatchObject({
    clusterInstance: 'another-cluster',
    wentBack: true,
    candidates: [{ object: { name: 'd' } }],
  });
});

describe('[cluster S3] a restore of the cluster', () => {
  const orphan = (made: FakeCluster): void => made.put(owned('d', 'absent'));
  const verdictsIn = (facts: Ownership[]): boolean[] => facts.splice(0).map(({ wentBack }) => wentBack);

  test('is known to an agent that begins after it, by the newest version of which was told before', async () => {
    const earlier = { ...NO_EARLIER_FACTS, newest: new Map([['ConfigMap', '5000']]) };
    const { facts, pass } = await agentOf(orphan, async () => undefined, earlier);
    await pass(5);
    expect(verdictsIn(facts)).toEqual([true]);
    await pass(605);
    expect(verdictsIn(facts).at(-1)).toBe(false);
  });

  test('of which was told counts for what is left of its ten minutes', async () => {
    const { facts: others } = await agentOf(orphan);
    const atMs = others[0]?.takenAt.serverMs ?? 0;
    const earlier = { ...NO_EARLIER_FACTS, restoredAtMs: atMs - 300_000 };
    const { facts, pass } = await agentOf(orphan, async () => undefined, earlier);
    expect(verdictsIn(facts)).toEqual([true]);
    await pass(290);
    expect(verdictsIn(facts)).toEqual([]);
    await pass(605);
    expect(verdictsIn(facts)).toEqual([false]);
    const past = { ...NO_EARLIER_FACTS, restoredAtMs: atMs - 603_000 };
    expect(verdictsIn((await agentOf(orphan, async () => undefined, past)).facts)).toEqual([false]);
  });
});

describe('a candidate', () => {
  const start = () =>
    agentOf((made) => {
      made.put({ resource: 'configmaps', name: 'o' });
      made.put(owned('d', 'o'));
      made.put(owned('e', 'o'));
    });

  test('is told once while nothing changes but its resourceVersion, and again after ten minutes', async () => {
    const { cluster, pass, told } = await start();
    cluster.remove('o');
    await pass(1);
    expect(told()).toEqual(['d: gone', 'e: gone']);
    cluster.put(owned('d', 'o'));
    await pass(590);
    expect(told()).toEqual([]);
    await pass(20);
    expect(told()).toEqual(['d: gone', 'e: gone']);
  });

  test('[cluster S7] is told again when a policy, a pause or an approval begins or ends, and half a minute later', async () => {
    const { cluster, pass, told, holding } = await start();
    cluster.remove('o');
    await pass(1);
    told();
    for (const holds of ['policy and an approval', 'policy']) {
      holding.holds = holds;
      await pass(2);
      expect(told()).toEqual(['d: gone', 'e: gone']);
      await pass(30);
      expect(told()).toEqual(['d: gone', 'e: gone']);
    }
    holding.holds = null;
    await pass(60);
    holding.holds = 'policy';
    await pass(60);
    expect(told()).toEqual([]);
  });

  test('is told to be settled when it is gone, or none any more', async () => {
    const { cluster, pass, told } = await start();
    cluster.remove('o');
    await pass(1);
    told();
    cluster.remove('d');
    cluster.put(owned('e'));
    await pass(2);
    expect(told()).toEqual(['d settled: gone', 'e settled: no-candidate']);
  });

  test('that settles is told together with others a second later, or with the next candidate', async () => {
    const { cluster, pass, seen, told, facts } = await start();
    cluster.remove('o');
    await pass(1);
    told();
    cluster.remove('d');
    await seen();
    cluster.remove('e');
    await seen();
    expect(facts).toEqual([]);
    await pass(2);
    expect(facts.length).toBe(1);
    expect(told()).toEqual(['d settled: gone', 'e settled: gone']);
  });

  test('that is one again before it was told to be settled is told as a candidate alone', async () => {
    const { cluster, pass, seen, told } = await start();
    cluster.remove('o');
    await pass(1);
    told();
    cluster.put(owned('d'));
    await seen();
    cluster.put(owned('d', 'o'));
    await seen();
    await pass(2);
    expect(told()).toEqual(['d: gone']);
  });

  test('[cluster C9, D17] that waits is told when the last that blocks it is gone', async () => {
    const { cluster, pass, told } = await start();
    cluster.put({
      resource: 'secrets',
      name: 'f',
      metadata: { ownerReferences: [ref('o', { blockOwnerDeletion: true })] },
    });
    cluster.put({
      resource: 'configmaps',
      name: 'o',
      metadata: { finalizers: ['foregroundDeletion'], deletionTimestamp: '2026-11-01T00:00:00Z' },
    });
    await pass(1);
    expect(told()).toEqual(['d: waiting', 'e: waiting', 'f: waiting']);
    cluster.remove('f');
    await pass(1);
    expect(told()).toEqual(['f settled: gone', 'o: ']);
  });

  test('[cluster S5] tells whether it or its namespace is kept', async () => {
    const { cluster, pass, facts } = await start();
    cluster.put({ resource: 'namespaces', name: 'ns', metadata: { annotations: { 'fleetgc.io/keep': '' } } });
    cluster.put({
      ...owned('d', 'o'),
      metadata: { ...owned('d', 'o').metadata, annotations: { 'fleetgc.io/keep': 'x' } },
    });
    cluster.remove('o');
    await pass(1);
    const kept = facts.flatMap(({ candidates }) =>
      candidates.map(({ object }) => `${object.name} ${object.keptBy}`),
    );
    expect(kept.toSorted()).toEqual(['d object', 'e namespace']);
  });
});

test('[cluster I9, S3] a kind that is withdrawn makes no owner gone; should it come back without, it went with its kind', async () => {
  const { cluster, pass, told, facts } = await agentOf((made) => {
    made.put({ resource: 'configmaps', name: 'o' });
    made.put({ resource: 'configmaps', name: 'back' });
    made.put(owned('d', 'o'));
    made.put(owned('e', 'back'));
  });
  const { configmaps: _, ...without } = cluster.kinds;
  const { kinds } = cluster;
  cluster.kinds = without;
  await pass(65);
  expect(facts[0]?.candidates[0]?.references).toMatchObject([
    { state: 'unresolved', resolved: { resource: 'configmaps' }, gone: { how: 'kind-going' } },
  ]);
  expect(told()).toEqual(['d: unresolved', 'e: unresolved']);
  cluster.remove('o');
  cluster.kinds = kinds;
  await pass(65);
  expect(facts.at(-1)?.candidates[0]?.references[0]?.gone?.how).toBe('kind-going');
  expect(told()).toEqual(['d: gone', 'e settled: no-candidate']);
});

test('[cluster S1] how much goes with all missing owners of a kind is known before the first of them is told', async () => {
  const { facts } = await agentOf((made) => {
    for (let index = 0; index < 6; index++) made.put(owned(`d${index}`, `absent${index}`));
  });
  const widths = facts.flatMap(({ candidates }) => candidates.flatMap(({ cascades }) => cascades));
  expect(widths.map(({ ofKind }) => ofKind)).toEqual([6, 6, 6, 6, 6, 6]);
});

test('[cluster S1] how much went with an owner is known also where what is left of it is read late', async () => {
  const widths = new Map([['absent', { kind: 'ConfigMap', objects: 900 }]]);
  const { cluster, pass, facts } = await agentOf(
    (made) => {
      made.refusals.set('secrets', 503);
      made.put({ ...owned('early', 'other'), resource: 'configmaps' });
      made.put(owned('d', 'absent'));
    },
    undefined,
    { ...NO_EARLIER_FACTS, widths },
  );
  await pass(40);
  cluster.refusals.clear();
  await pass(120);
  const told = facts.flatMap(({ candidates }) => candidates).filter(({ object }) => object.name === 'd');
  expect(told.at(-1)?.cascades).toMatchObject([{ ownerUid: 'absent', objects: 900, ofKind: 901 }]);
});

test.each(['LOG_RECORD_TOO_LARGE', 'EVENT_REJECTED'] as const)(
  'a fact that can never be published is given up, and all else is told: %s',
  async (code) => {
    const { cluster, pass, told } = await agentOf(
      (made) => made.put({ resource: 'configmaps', name: 'o' }),
      async ({ candidates }) => {
        if (candidates.some(({ object }) => object.name === 'large'))
          throw new FleetGcError(code, 'too large');
      },
    );
    cluster.put(owned('large', 'absent'));
    await pass(10);
    cluster.put(owned('d', 'o'));
    cluster.remove('o');
    await pass(10);
    expect(told()).toEqual(['d: gone']);
  },
);

test('while the event log is away candidates wait, which is known, and are told once it is back', async () => {
  const log = { isAway: true };
  const { agent, cluster, pass, told } = await agentOf(
    (made) => made.put({ resource: 'configmaps', name: 'o' }),
    async () => {
      if (log.isAway) throw new FleetGcError('LOG_UNREACHABLE', 'away');
    },
  );
  cluster.put(owned('d', 'o'));
  cluster.remove('o');
  await pass(10);
  expect(told()).toEqual([]);
  const waited = agent.figures?.unpublishedForMs ?? 0;
  expect(waited).toBeGreaterThan(0);
  await pass(300);
  expect(agent.figures?.unpublishedForMs).toBe(waited + 300_000);
  log.isAway = false;
  await pass(35);
  expect(told()).toEqual(['d: gone']);
  expect(agent.figures?.unpublishedForMs).toBe(0);
});

describe('the census', () => {
  const deleted = { deletionTimestamp: '2020-01-01T00:00:00Z' };

  test('names what is stuck, who waits for whom, and references to what is not there', async () => {
    const { censuses, pass } = await agentOf((made) => {
      made.put({ resource: 'configmaps', name: 'stuck', metadata: { ...deleted, finalizers: ['x.y/z'] } });
      made.put({
        resource: 'configmaps',
        name: 'waiting',
        metadata: { ...deleted, finalizers: ['foregroundDeletion'] },
      });
      made.put({
        resource: 'secrets',
        name: 'blocker',
        metadata: { ownerReferences: [ref('waiting', { blockOwnerDeletion: true })] },
      });
      made.put(owned('d1', 'nobody'));
      made.put({
        resource: 'secrets',
        name: 'copy',
        namespace: 'other',
        metadata: owned('x', 'stuck').metadata,
      });
      made.refusals.set('namespaces', 403);
    });
    await pass(10);
    const { findings } = censuses.at(-1) ?? {};
    expect(findings).toMatchObject({
      stuckFinalizers: { count: 1, first: [{ object: { name: 'stuck' }, finalizers: ['x.y/z'] }] },
      waitingOwners: {
        count: 1,
        first: [{ object: { name: 'waiting' }, blocking: 1, blockers: [{ name: 'blocker' }] }],
      },
      badReferences: {
        count: 2,
        first: [
          { object: { name: 'd1' }, state: 'unseen', owner: { name: 'nobody' } },
          { object: { name: 'copy' }, state: 'elsewhere', owner: { name: 'stuck' } },
        ],
      },
      missingOwners: { count: 1, first: [{ ownerName: 'nobody', ownerKind: 'ConfigMap', objects: 1 }] },
      unsyncedKinds: [{ kind: 'Namespace' }],
    });
  });

  test('counts the objects of each kind, the most first, and tells nothing anew because one came', async () => {
    const { censuses, cluster, pass } = await agentOf((made) => {
      for (let index = 0; index < 3; index++) made.put({ resource: 'secrets', name: `s${index}` });
      made.put({ resource: 'configmaps', name: 'c' });
    });
    await pass(10);
    const told = [
      { group: '', kind: 'Secret', objects: 3 },
      { group: '', kind: 'ConfigMap', objects: 1 },
      { group: '', kind: 'Namespace', objects: 1 },
    ];
    expect(censuses.map(({ kinds }) => kinds)).toEqual([told]);
    cluster.put({ resource: 'configmaps', name: 'd' });
    await pass(120);
    expect(censuses).toHaveLength(1);
  });

  test('is told once, again when something is found, and every ten minutes', async () => {
    const { censuses, cluster, pass } = await agentOf((made) =>
      made.put({ resource: 'configmaps', name: 'o' }),
    );
    await pass(10);
    expect(censuses).toHaveLength(1);
    await pass(300);
    expect(censuses).toHaveLength(1);
    cluster.put(owned('d', 'nobody'));
    await pass(120);
    expect(censuses.at(-1)?.findings.badReferences.count).toBe(1);
    const told = censuses.length;
    await pass(700);
    expect(censuses.length).toBe(told + 1);
  });

  test('tells of the first fifty, and counts all', async () => {
    const { censuses, pass } = await agentOf((made) => {
      for (let index = 0; index < 60; index++) made.put(owned(`d${index}`, 'nobody'));
    });
    await pass(10);
    const { count, first } = censuses.at(-1)?.findings.badReferences ?? {};
    expect([count, first?.length]).toEqual([60, 50]);
  });
});

test('[cluster S12] a rule of the policy in force has its kind read anew, and with the next policy others are told', async () => {
  const made = (name: string, app: string) => ({
    resource: 'configmaps',
    name,
    metadata: { labels: { app, secret: 'x' }, creationTimestamp: '2026-01-01T00:00:00Z' },
  });
  const { pass, expiries, ruling, cluster } = await agentOf((each) => {
    each.put(made('ci', 'ci'));
    each.put(made('web', 'web'));
  });
  const lists = (): number => cluster.asked.filter(({ path }) => path.includes('/configmaps?limit')).length;
  const under = (app: string): ClusterPolicyRecord =>
    clusterPolicyRecord({
      rules: [
        {
          name: 'old',
          kinds: ['ConfigMap'],
          namespaces: [],
          labels: { app },
          afterMs: 3_600_000,
          propagation: 'Background',
          removalsPerHour: 100,
        },
      ],
    });
  const told = () =>
    expiries
      .splice(0)
      .flatMap(({ candidates, shares }) => [
        ...candidates.map(({ object: { name }, labels }) => ({ name, labels })),
        ...(shares ?? []),
      ]);
  expect([told(), lists()]).toEqual([[], 1]);
  ruling.policy = under('ci');
  await pass(4);
  expect(told()).toEqual([
    { name: 'ci', labels: { app: 'ci' } },
    { kind: 'ConfigMap', over: 1, objects: 2 },
  ]);
  expect(lists()).toBe(2);
  cluster.put(made('new', 'ci'));
  await pass(2);
  expect(told()).toMatchObject([{ name: 'new' }, { over: 2, objects: 3 }]);
  ruling.policy = under('web');
  await pass(4);
  expect(told()).toMatchObject([{ name: 'web' }, { over: 1 }]);
});

test('[cluster K4, S7] what is over is told again when a policy, a pause or an approval begins or ends, and half a minute later', async () => {
  const { pass, expiries, holding } = await agentOf((made) => {
    made.put(owned('d', 'absent'));
    made.put({
      resource: 'configmaps',
      name: 'ttl',
      metadata: { annotations: { 'fleetgc.io/ttl': '1m' }, creationTimestamp: '2026-01-01T00:00:00Z' },
    });
  });
  const told = (): string[] =>
    expiries.splice(0).flatMap(({ candidates }) => candidates.map(({ object }) => object.name));
  await pass(60);
  expect(told()).toEqual(['ttl']);
  holding.holds = 'a pause';
  await pass(2);
  expect(told()).toEqual(['ttl']);
  await pass(31);
  expect(told()).toEqual(['ttl']);
  await pass(60);
  expect(told()).toEqual([]);
});

describe('[cluster K4, S8] a clock that is set', () => {
  const HOUR_MS = 3_600_000;
  /** An object that has half an hour to live by its annotation. */
  const expiring = async () => {
    const started = await agentOf((made) => made.put(owned('d', 'absent')));
    const { cluster, facts } = started;
    const serverMs = facts[0]?.takenAt.serverMs ?? 0;
    cluster.put({
      resource: 'configmaps',
      name: 'ttl',
      metadata: {
        annotations: { 'fleetgc.io/ttl': '30m' },
        creationTimestamp: new Date(serverMs).toISOString().replace(/\.\d+Z/, 'Z'),
      },
    });
    const told = (): string[] =>
      started.expiries.splice(0).flatMap(({ candidates }) => candidates.map(({ object }) => object.name));
    return { ...started, told };
  };

  test('by an hour and back lets nothing go before its time', async () => {
    for (const byMs of [HOUR_MS, -HOUR_MS]) {
      const { cluster, pass, told } = await expiring();
      cluster.clockSetByMs = byMs;
      await pass(45);
      cluster.clockSetByMs = 0;
      await pass(1_500);
      expect(told()).toEqual([]);
      await pass(300);
      expect(told()).toEqual(['ttl']);
    }
  });

  test('back by an hour, and left so, has what is not over wait for that hour', async () => {
    const { cluster, pass, told } = await expiring();
    cluster.clockSetByMs = -HOUR_MS;
    await pass(2_400);
    expect(told()).toEqual([]);
  });

  test('ahead by an hour is believed when answers have agreed for a minute, and not before', async () => {
    const { cluster, pass, told } = await expiring();
    cluster.clockSetByMs = HOUR_MS;
    await pass(58);
    expect(told()).toEqual([]);
    await pass(120);
    expect(told()).toEqual(['ttl']);
  });
});
