import { expect, test } from 'vitest';
import { Deeds, type Owner, SimulatedCluster } from '../../sim/api-server/cluster.ts';
import { apiTime, CONFIG_MAP, JOB, POD, SECRET } from '../../sim/api-server/objects.ts';
import { KEPT_PODS, ROLLING_KINDS, RollingCluster } from './rolling.ts';
import { ClusterTruth } from './truth.ts';

const NOW_MS = 1_800_000_000_000;

function world() {
  let uids = 0;
  let nowMs = NOW_MS;
  const now = (): number => nowMs;
  const cluster = new SimulatedCluster({ kinds: ROLLING_KINDS, now, newId: () => `uid-${++uids}` });
  const truth = new ClusterTruth(cluster, { keptPods: 1, nowMs: now });
  const deeds = new Deeds(cluster);
  return {
    cluster,
    truth,
    /** Of the collector. */
    deeds,
    people: (deed: (deeds: Deeds) => void): void => truth.byPeople(() => deed(deeds)),
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}

const named = (kind: Owner['kind'], name: string): Owner => ({ kind, name: { namespace: 'default', name } });
const OWNER = named(CONFIG_MAP, 'owner');
const DEPENDENT = named(SECRET, 'dependent');

function family() {
  const made = world();
  made.people((deeds) => {
    deeds.create(OWNER);
    deeds.create({ ...DEPENDENT, owner: OWNER });
  });
  return made;
}

test('a dependent that goes while its owner is there is wrong, and one that goes after it is not', () => {
  const early = family();
  early.deeds.delete(DEPENDENT, 'Background');
  expect(early.truth).toMatchObject({ wrong: 1, removed: 1 });

  const late = family();
  late.people((deeds) => deeds.delete(OWNER, 'Background'));
  expect(late.truth.leftOver()).toEqual(['Secret default/dependent']);
  late.deeds.delete(DEPENDENT, 'Background');
  expect(late.truth).toMatchObject({ wrong: 0, removed: 1 });
  expect(late.truth.leftOver()).toEqual([]);
});

test('an owner that waits for its dependents is left over until it has gone, and wrong if it goes before them', () => {
  const { truth, people, cluster } = family();
  people((deeds) => deeds.delete(OWNER, 'Foreground'));
  expect(truth.leftOver()).toHaveLength(2);
  const finish = (): void => {
    cluster.patch(CONFIG_MAP, OWNER.name, { metadata: { finalizers: [] } }, false);
  };
  finish();
  expect(truth).toMatchObject({ wrong: 1, wrongs: ['ConfigMap default/owner went before its dependents'] });
});

test('what loses a reference to an owner that is there is wrong', () => {
  const { truth, cluster } = family();
  cluster.patch(SECRET, DEPENDENT.name, { metadata: { ownerReferences: [] } }, false);
  expect(truth).toMatchObject({ wrong: 1, dropped: 1, removed: 0 });
});

test('what has no owner goes wrongly, and what people delete does not count', () => {
  const { truth, people, deeds } = family();
  deeds.delete(OWNER, 'Background');
  expect(truth).toMatchObject({ wrong: 1, removed: 1 });
  people((each) => each.delete(DEPENDENT, 'Background'));
  expect(truth).toMatchObject({ wrong: 1, removed: 1 });
});

test('a Job may go once its time is over, and is left over from then on', () => {
  const made = world();
  const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: apiTime(NOW_MS) }];
  const fields = { spec: { ttlSecondsAfterFinished: 2 }, status: { conditions } };
  for (const name of ['a', 'b']) made.people((deeds) => deeds.create({ ...named(JOB, name), fields }));
  made.deeds.delete(named(JOB, 'a'), 'Background');
  expect(made.truth.wrong).toBe(1);
  expect(made.truth.leftOver()).toEqual([]);
  made.pass(2_000);
  expect(made.truth.leftOver()).toEqual(['batch/Job default/b']);
  made.deeds.delete(named(JOB, 'b'), 'Background');
  expect(made.truth.wrong).toBe(1);
});

test('of pods that ended no more go than are too many', () => {
  const made = world();
  const fields = { status: { phase: 'Failed' } };
  for (const name of ['a', 'b']) made.people((deeds) => deeds.create({ ...named(POD, name), fields }));
  expect(made.truth.leftOver()).toEqual(['1 ended pods too many']);
  made.deeds.delete(named(POD, 'a'), 'Background');
  expect(made.truth.wrong).toBe(0);
  made.deeds.delete(named(POD, 'b'), 'Background');
  expect(made.truth.wrong).toBe(1);
});

test('a cluster is filled with as many objects as asked for, and each roll-out leaves some over', () => {
  const now = (): number => NOW_MS;
  let uids = 0;
  const cluster = new SimulatedCluster({ kinds: ROLLING_KINDS, now, newId: () => `uid-${++uids}` });
  const truth = new ClusterTruth(cluster, { keptPods: KEPT_PODS, nowMs: now });
  const rolling = new RollingCluster(cluster, truth, 0, now);
  rolling.fill(1_000);
  expect(truth.objects).toBeGreaterThan(950);
  expect(truth.objects).toBeLessThan(1_050);
  expect(truth.leftOver()).toEqual([]);
  for (let rollOut = 1; rollOut <= 8; rollOut++) {
    const before = truth.leftOver().length;
    rolling.rollOut();
    expect(truth.leftOver().length).toBeGreaterThan(before);
  }
  expect(truth).toMatchObject({ wrong: 0, removed: 0 });
});
