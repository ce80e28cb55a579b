import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Expiring } from '../../../../packages/kube-api/expiring.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { MAX_EXPIRING } from '../../../../schemas/events/expiry.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import {
  DueTimes,
  ExpiryBook,
  ExpiryWatch,
  RulesInForce,
} from '../../../../services/cluster/agent/expiry.ts';
import type { ObservedObject } from '../../../../services/cluster/agent/observed-object.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { jobFacts, MINUTE_MS, NOW_MS, podEnd } from '../../../fixtures/expiry.ts';

const JOBS: ResourceKind = { group: 'batch', version: 'v1', kind: 'Job', resource: 'jobs', namespaced: true };

const observed = (
  name: string,
  expiring: Expiring | null,
  over: Partial<ObservedObject> = {},
): ObservedObject => ({
  namespace: 'ns',
  name,
  uid: name,
  resourceVersion: '7',
  deletionTimestamp: null,
  finalizers: [],
  ownerReferences: [],
  keep: false,
  expiring,
  ...over,
});
/** A Job whose TTL ends so many milliseconds from now. */
const job = (name: string, endsInMs: number, over: Partial<ObservedObject> = {}): ObservedObject =>
  observed(
    name,
    {
      createdAtMs: NOW_MS - 1_000_000,
      facts: jobFacts({ ttlSecondsAfterFinished: 0, finished: { atMs: NOW_MS + endsInMs } }),
    },
    over,
  );

function book(...jobs: readonly ObservedObject[]) {
  return bookBy([], ...jobs);
}

function bookBy(rules: readonly OwnRule[], ...jobs: readonly ObservedObject[]) {
  const kept = new Set<string>();
  const made = new ExpiryBook({
    isKeptNamespace: (namespace) => kept.has(namespace),
    countObjects: () => 100,
    rules: () => rules,
    jobState: () => 'unknown',
  });
  made.beginList(JOBS);
  made.listed(JOBS, jobs);
  made.endList(JOBS);
  const taken = (afterMs: number): string[] =>
    made.take(NOW_MS + afterMs).candidates.map(({ object: { name } }) => name);
  return { book: made, taken, kept };
}

test('an object of another kind, which others may serve, takes the place of none that has its uid', () => {
  const widgets = { ...JOBS, group: 'example.com', kind: 'Widget', resource: 'widgets' };
  const { book: known, taken } = book(job('a', 0), job('b', 0), job('c', 0));
  known.put(widgets, observed('a', null));
  known.gone(widgets, observed('b', null));
  known.put(widgets, observed('c', { createdAtMs: NOW_MS, facts: { of: 'object' } }));
  expect(taken(0).toSorted()).toEqual(['a', 'b', 'c']);
});

test('[cluster K4, K8] each list tells when objects are due, and they are told then and not before', () => {
  const { taken } = book(job('later', 5_000), job('now', 0), job('never', Number.MAX_SAFE_INTEGER - NOW_MS));
  expect(taken(-1)).toEqual([]);
  expect(taken(0)).toEqual(['now']);
  expect(taken(4_999)).toEqual([]);
  expect(taken(5_000)).toEqual(['later']);
});

test('[cluster K3, K7] a change of the time counts from then on, and one of anything else is no news', () => {
  const { book: made, taken } = book(job('a', 5_000), job('b', 5_000), job('c', 0));
  made.put(JOBS, job('a', 1_000));
  made.put(JOBS, job('b', 9_000));
  expect(taken(1_000)).toEqual(['c', 'a']);
  made.put(JOBS, job('c', 0, { resourceVersion: '8' }));
  expect(taken(5_000)).toEqual([]);
  expect(taken(9_000)).toEqual(['b']);
});

describe('an object is not told any more', () => {
  test.each<[string, (made: ExpiryBook) => void]>([
    ['when it is gone', (made) => made.gone(JOBS, job('a', 0))],
    [
      '[cluster K1] when it is being deleted',
      (made) => made.put(JOBS, job('a', 0, { deletionTimestamp: 'x' })),
    ],
    ['when it lost its TTL', (made) => made.put(JOBS, observed('a', null))],
    ['when its kind is not served any more', (made) => made.withdraw({ ...JOBS, version: 'v2' })],
    [
      'when a whole list lacks it',
      (made) => {
        made.beginList(JOBS);
        made.endList(JOBS);
      },
    ],
  ])('%s', (_, change) => {
    const { book: made, taken } = book(job('a', 0));
    change(made);
    expect(taken(0)).toEqual([]);
    expect(made.size).toBe(0);
  });
});

test('a list that broke off makes nothing gone', () => {
  const { book: made, taken } = book(job('a', 0));
  made.beginList(JOBS);
  made.failed(JOBS);
  made.endList(JOBS);
  expect(taken(0)).toEqual(['a']);
});

test('what was told is told again ten minutes later, with what keeps it by then', () => {
  const { book: made, taken, kept } = book(job('a', 0));
  expect(made.take(NOW_MS).candidates).toMatchObject([{ object: { ...JOBS, uid: 'a', keptBy: null } }]);
  kept.add('ns');
  expect(taken(10 * MINUTE_MS - 1)).toEqual([]);
  expect(made.take(NOW_MS + 10 * MINUTE_MS).candidates).toMatchObject([{ object: { keptBy: 'namespace' } }]);
  made.put(JOBS, job('a', 0, { keep: true }));
  expect(made.take(NOW_MS + 10 * MINUTE_MS).candidates).toMatchObject([{ object: { keptBy: 'object' } }]);
});

test('what was told is told once more when something else may be decided of it, and nothing before its time', () => {
  const { book: made, taken } = book(job('now', 0), job('later', 5_000));
  expect(taken(0)).toEqual(['now']);
  made.tellAgain();
  expect(taken(1)).toEqual(['now']);
  expect(taken(2)).toEqual([]);
  expect(taken(5_000)).toEqual(['later']);
});

test('a fact holds so many, and the rest comes with the next one', () => {
  const jobs = Array.from({ length: MAX_EXPIRING + 1 }, (_, index) => job(`j${index}`, 0));
  const { taken } = book(...jobs);
  expect(taken(0)).toHaveLength(MAX_EXPIRING);
  expect(taken(0)).toHaveLength(1);
  expect(taken(0)).toEqual([]);
});

type Step = readonly [uid: string, atMs: number | null];

test('due times come in order, each as it was put last', () => {
  const steps = fc.array(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), fc.option(fc.nat(50))),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, fc.nat(50), (all: readonly Step[], nowMs) => {
      const due = new DueTimes();
      const model = new Map<string, number>();
      for (const [uid, atMs] of all) {
        if (atMs === null) {
          due.remove(uid);
          model.delete(uid);
        } else {
          due.put(uid, atMs);
          model.set(uid, atMs);
        }
      }
      expect(due.size).toBe(model.size);
      const taken: string[] = [];
      for (let uid = due.take(nowMs); uid !== null; uid = due.take(nowMs)) taken.push(uid);
      const expected = [...model].filter(([, atMs]) => atMs <= nowMs);
      expect(taken.toSorted()).toEqual(expected.map(([uid]) => uid).toSorted());
      expect(taken.map((uid) => model.get(uid))).toEqual(
        expected.map(([, atMs]) => atMs).toSorted((a, b) => a - b),
      );
    }),
  );
});

test('a heap in which one time is put again and again does not grow', () => {
  const due = new DueTimes();
  for (let atMs = 0; atMs < 10_000; atMs++) due.put('a', atMs);
  expect(due.take(9_998)).toBeNull();
  expect(due.take(9_999)).toBe('a');
  expect(due.size).toBe(0);
});

test('[cluster S8, S11] what its annotations let go is told, with how many of its kind there are', () => {
  const annotated = (name: string, ttl: string, controller = false): ObservedObject =>
    observed(
      name,
      { createdAtMs: NOW_MS - 60_000, facts: { of: 'object' }, annotations: { 'janitor/ttl': ttl } },
      {
        ownerReferences: controller
          ? [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller, blockOwnerDeletion: false }]
          : [],
      },
    );
  const { book: made } = book(annotated('a', '1m'), annotated('b', '1m', true), annotated('c', '2m'));
  const { candidates, shares } = made.take(NOW_MS);
  expect(candidates.map(({ object: { name }, isControlled }) => [name, isControlled])).toEqual([
    ['a', undefined],
    ['b', true],
  ]);
  expect(shares).toEqual([{ kind: 'batch/Job', over: 2, objects: 100 }]);
});

const RULE: OwnRule = {
  name: 'old',
  kinds: ['batch/Job', 'Pod'],
  namespaces: ['ns'],
  afterMs: 5 * MINUTE_MS,
  propagation: 'Background',
  removalsPerHour: 100,
};
const plain = (name: string, agoMs: number, over: Partial<ObservedObject> = {}): ObservedObject =>
  observed(name, { createdAtMs: NOW_MS - agoMs, facts: { of: 'object' } }, over);
const CONTROLLER = {
  apiVersion: 'v1',
  kind: 'X',
  name: 'x',
  uid: 'x',
  controller: true,
  blockOwnerDeletion: false,
};

describe('[cluster S12] by rules of the policy', () => {
  const rules = [{ ...RULE, kinds: ['batch/Job', 'ConfigMap'] }];
  const CONFIG_MAPS: ResourceKind = {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    namespaced: true,
  };
  const bookOf = (...objects: readonly ObservedObject[]) => {
    const made = bookBy(rules);
    made.book.listed(CONFIG_MAPS, objects);
    return made;
  };

  test('an object is told when it is old enough, with how many are over, and all of its kind count', () => {
    const { book: made, taken } = bookOf(plain('a', 4 * MINUTE_MS), plain('b', 3 * MINUTE_MS));
    expect(taken(MINUTE_MS - 1)).toEqual([]);
    const { candidates, shares } = made.take(NOW_MS + MINUTE_MS);
    expect(candidates.map(({ object: { name } }) => name)).toEqual(['a']);
    expect(shares).toEqual([{ kind: 'ConfigMap', over: 1, objects: 100 }]);
    expect(made.take(NOW_MS + 2 * MINUTE_MS).shares).toEqual([{ kind: 'ConfigMap', over: 2, objects: 100 }]);
  });

  test('[cluster S11] while a kind is read anew for other rules, nobody is told how little of it is over so far', () => {
    const { book: made, taken } = bookOf(plain('a', 10 * MINUTE_MS));
    made.recount('ConfigMap');
    expect(taken(0)).toEqual([]);
    made.beginList(CONFIG_MAPS);
    made.listed(CONFIG_MAPS, [plain('b', 10 * MINUTE_MS)]);
    expect(taken(1_000)).toEqual([]);
    made.failed(CONFIG_MAPS);
    expect(taken(2_000)).toEqual([]);
    made.beginList(CONFIG_MAPS);
    made.listed(CONFIG_MAPS, [plain('a', 10 * MINUTE_MS), plain('b', 10 * MINUTE_MS)]);
    made.endList(CONFIG_MAPS);
    const { candidates, shares } = made.take(NOW_MS + 3_000);
    expect(candidates.map(({ object: { name } }) => name).toSorted()).toEqual(['a', 'b']);
    expect(shares).toEqual([{ kind: 'ConfigMap', over: 2, objects: 100 }]);
  });

  test('[cluster S11] how much of a kind would go is told to who deletes it, but not while it is read anew', () => {
    const { book: made } = bookOf(plain('a', 10 * MINUTE_MS), plain('b', 4 * MINUTE_MS));
    expect(made.shareOf('ConfigMap', NOW_MS)).toEqual({ over: 1, objects: 100 });
    made.put(CONFIG_MAPS, plain('c', 10 * MINUTE_MS));
    expect(made.shareOf('ConfigMap', NOW_MS + 999)?.over).toBe(1);
    expect(made.shareOf('ConfigMap', NOW_MS + 1_000)?.over).toBe(2);
    expect(made.shareOf('ConfigMap', NOW_MS + MINUTE_MS)?.over).toBe(3);
    expect(made.shareOf('Secret', NOW_MS)).toBeNull();
    made.recount('ConfigMap');
    expect(made.shareOf('ConfigMap', NOW_MS + MINUTE_MS)).toBeNull();
    made.beginList(CONFIG_MAPS);
    made.listed(CONFIG_MAPS, [plain('a', 10 * MINUTE_MS)]);
    made.endList(CONFIG_MAPS);
    expect(made.shareOf('ConfigMap', NOW_MS + MINUTE_MS)).toEqual({ over: 1, objects: 100 });
  });

  test('[cluster K4] what goes by its own time does not wait for a kind to be counted', () => {
    const { book: made, taken } = book(job('a', 0));
    made.recount('batch/Job');
    expect(taken(0)).toEqual(['a']);
  });

  test('[cluster S9] nobody is told of what no rule is for, or no rule may delete', () => {
    const { book: made } = bookOf(
      plain('elsewhere', 10 * MINUTE_MS, { namespace: 'other' }),
      plain('controlled', 10 * MINUTE_MS, { ownerReferences: [CONTROLLER] }),
    );
    expect(made.take(NOW_MS).candidates).toEqual([]);
    expect(made.size).toBe(0);
  });

  test('a fact does not grow beyond its bounds, however long labels are', () => {
    const labels = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [
        `${'a'.repeat(60)}.com/${index}${'x'.repeat(59)}`,
        'v'.repeat(63),
      ]),
    );
    const many = Array.from({ length: MAX_EXPIRING }, (_, index) =>
      observed(`o${index}`, { createdAtMs: 0, facts: { of: 'object' }, labels }),
    );
    const { book: made } = bookOf(...many);
    const { candidates } = made.take(NOW_MS);
    expect(candidates.length).toBeLessThan(MAX_EXPIRING);
    expect(JSON.stringify(candidates).length).toBeLessThan(2_000_000);
    let told = candidates.length;
    for (let next = made.take(NOW_MS); next.candidates.length > 0; next = made.take(NOW_MS))
      told += next.candidates.length;
    expect(told).toBe(MAX_EXPIRING);
  });
});

test('[cluster S15] a pod is told with how far its Job is, and is looked at again though nobody tells of it', () => {
  const PODS: ResourceKind = { group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespaced: true };
  const { book: made } = bookBy([{ ...RULE, states: ['Failed'] }]);
  const job = { ...CONTROLLER, apiVersion: 'batch/v1', kind: 'Job' };
  const pod = (name: string, reference: typeof CONTROLLER): ObservedObject =>
    observed(name, { createdAtMs: 0, facts: podEnd('Failed') }, { ownerReferences: [reference] });
  made.listed(PODS, [pod('of-job', job), pod('of-other', CONTROLLER)]);
  const told = made
    .take(NOW_MS)
    .candidates.map((each) => [each.object.name, each.isControlled, each.controllingJob]);
  expect(told.toSorted()).toEqual([
    ['of-job', true, 'unknown'],
    ['of-other', true, undefined],
  ]);
});

test('[cluster S11] when rules change, what is over of a kind is counted anew before anything of it is told', async () => {
  const rule = { ...RULE, kinds: ['batch/Job'] };
  let record = clusterPolicyRecord({ rules: [rule] });
  const watch = new ExpiryWatch({ isKeptNamespace: () => false, countObjects: () => 100 }, () => record);
  const finished = observed('a', {
    createdAtMs: NOW_MS - 10 * MINUTE_MS,
    facts: jobFacts({ ttlSecondsAfterFinished: null }),
  });
  watch.book.put(JOBS, finished);
  record = clusterPolicyRecord({ rules: [{ ...rule, afterMs: 2 * MINUTE_MS }] });
  const stop = new AbortController();
  const restarted: string[] = [];
  await watch.followRules(
    (kind) => void restarted.push(kind),
    async () => stop.abort(),
    stop.signal,
  );
  expect(restarted).toEqual(['batch/Job']);
  expect(watch.book.take(NOW_MS).candidates).toEqual([]);
  watch.book.beginList(JOBS);
  watch.book.listed(JOBS, [finished]);
  watch.book.endList(JOBS);
  expect(watch.book.take(NOW_MS + 1_000).candidates).toHaveLength(1);
});

test('rules that change make those kinds be read anew for which others hold, and no others', () => {
  const rules = new RulesInForce();
  const { afterMs: _, ...annotated } = RULE;
  const under = (...all: readonly OwnRule[]) => rules.update(clusterPolicyRecord({ rules: [...all] }));
  expect(rules.update(null)).toEqual([]);
  expect(under({ ...annotated, kinds: ['Secret'] })).toEqual([]);
  expect(
    under({ ...RULE, labels: { app: 'ci' } }, { ...annotated, name: 'b', kinds: ['Pod'] }).toSorted(),
  ).toEqual(['Pod', 'batch/Job']);
  expect(rules.labels(JOBS)).toEqual(new Set(['app']));
  expect(rules.rules({ group: '', kind: 'Pod' }).map(({ name }) => name)).toEqual(['old', 'b']);
  expect(under({ ...RULE, labels: { app: 'ci' } })).toEqual(['Pod']);
  expect(rules.update(null)).toEqual([]);
  expect(rules.labels(JOBS)).toEqual(new Set(['app']));
  expect(under({ ...annotated, kinds: ['Pod'] }).toSorted()).toEqual(['Pod', 'batch/Job']);
  expect(rules.labels(JOBS)).toBeNull();
});
