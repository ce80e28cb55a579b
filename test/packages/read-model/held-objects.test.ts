import { describe, expect, test, vi } from 'vitest';
import { contentHash } from '../../../packages/canonical/ids.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { HeldObjects } from '../../../packages/read-model/held-objects.ts';
import { holdsOf } from '../../../packages/read-model/holds.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { approval, approvedPods } from '../../fixtures/approval.ts';
import { clusterObjectResults, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { expiry, expiryCandidate, HOUR_MS, NOW_MS } from '../../fixtures/expiry.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';

const MINUTE_MS = 60_000;
const RULE: OwnRule = {
  name: 'old',
  kinds: ['apps/Deployment'],
  namespaces: ['ns'],
  afterMs: HOUR_MS,
  propagation: 'Background',
  removalsPerHour: 100,
};

const objectsUnder = (
  over: Partial<ClusterPolicy> = {},
  approvals: readonly ApprovalRecord[] = [],
  nowMs = 0,
): HeldObjects => {
  const record = clusterPolicyRecord({
    collectors: [
      'garbage-collector-controller',
      'pod-garbage-collector-controller',
      'ttl-after-finished-controller',
    ],
    limits: { cascade: 5, cascadeOfKind: 5, removalsPerHour: 100 },
    ...over,
  });
  return new HeldObjects(policySet('cluster', [record], [], approvals), nowMs);
};

/** Pods of a node that is missing, and so many on such nodes in all. */
const onMissing = (onMissingNodes: number, ...uids: readonly string[]) =>
  pods({
    candidates: uids.map((uid) =>
      podCandidate({
        object: { uid, name: uid },
        node: { state: 'missing', name: `node-${uid}`, missingForMs: 60_000 },
      }),
    ),
    totals: { onMissingNodes },
  });

/** Two pods of missing nodes, held. */
function twoHeld(): HeldObjects {
  const objects = objectsUnder();
  objects.fact(onMissing(9, 'a', 'b'), 1);
  return objects;
}
const uidsOf = (objects: HeldObjects): readonly string[] => objects.held.map(({ object: { uid } }) => uid);

test('[cluster S1] pods whose nodes came back are held no longer once their agent has not told them for a quarter of an hour', () => {
  const objects = twoHeld();
  objects.heard(14 * MINUTE_MS);
  expect(uidsOf(objects)).toEqual(['a', 'b']);
  objects.heard(15 * MINUTE_MS + 1);
  expect(objects.held).toEqual([]);
});

test('[cluster S7] an approval would name as many pods as the last fact said, their nodes, and be as wide as it is now', () => {
  const objects = twoHeld();
  objects.fact(onMissing(7, 'b'), 3);
  objects.fact(onMissing(8, 'a'), 5);
  expect(holdsOf(objects.held)).toMatchObject([
    {
      objects: 2,
      sinceMs: 1,
      what: { kind: 'pods-of-missing-nodes', nodes: ['node-b', 'node-a'], objects: 8 },
    },
  ]);
});

test('[cluster S7] of two facts in one millisecond the later one counts', () => {
  const objects = twoHeld();
  objects.fact(onMissing(7, 'a'), 1);
  expect(holdsOf(objects.held)).toMatchObject([{ what: { objects: 7 }, objects: 2 }]);
});

test('[cluster S7] what an approval lets go that is active now is not held, and is again once that has ended', () => {
  const fact = onMissing(9, 'a');
  const given = approval(approvedPods(9, ['node-a']));
  const held = (nowMs: number): number => {
    const objects = objectsUnder({}, [given], nowMs);
    objects.fact(fact, 1);
    return objects.held.length;
  };
  expect([held(given.untilMs - 1), held(given.untilMs)]).toEqual([0, 1]);
});

test('what the policies give to others, or pause, is not held', () => {
  for (const over of [{ collectors: [] }, { selector: { clusters: ['other'] } }]) {
    const objects = objectsUnder(over);
    objects.fact(onMissing(9, 'a'), 1);
    expect(objects.held).toEqual([]);
  }
});

describe('[cluster S7] an approval of a rule', () => {
  const DEPLOYMENT = 'apps/Deployment';
  /** Deployments of which so many are over, each for so long. */
  const over = (all: number, overForMs: readonly number[]) =>
    expiry({
      candidates: overForMs.map((forMs, index) =>
        expiryCandidate({
          object: { uid: `d-${index}`, name: `d-${index}` },
          facts: { of: 'object' },
          createdAtMs: NOW_MS - HOUR_MS - forMs,
        }),
      ),
      shares: [{ kind: DEPLOYMENT, over: all, objects: 99 }],
    });

  test('would name what was over last, and all that was told to be over', () => {
    const objects = objectsUnder({ rules: [RULE] });
    objects.fact(over(40, [120_000, 60_000]), 1);
    objects.fact(over(30, [120_000]), 3);
    expect(holdsOf(objects.held)).toMatchObject([
      {
        rule: 'S11',
        objects: 2,
        what: {
          kind: 'rule',
          rule: 'old',
          ruleSha256: contentHash(RULE),
          ofKind: DEPLOYMENT,
          objects: 30,
          overByMs: NOW_MS - 60_000,
        },
      },
    ]);
  });

  test('would name the rule as it is active now, whatever was decided before', () => {
    const changed = { ...RULE, afterMs: HOUR_MS - 1 };
    const objects = objectsUnder({ rules: [changed] });
    objects.fact(over(40, [120_000]), 1);
    expect(holdsOf(objects.held)).toMatchObject([
      { what: { ruleSha256: contentHash(changed), overByMs: NOW_MS - 120_001 } },
    ]);
  });
});

test('[cluster S2] an object that two services hold by its kind is one object, and is approved for both', () => {
  const objects = objectsUnder({ heldKinds: ['Pod'] });
  objects.fact(onMissing(1, 'a'), 1);
  const [pod] = onMissing(1, 'a').candidates;
  objects.fact(
    ownership({
      candidates: [
        candidate({
          object: { ...pod?.object, finalizers: [] },
          references: [owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } })],
        }),
      ],
    }),
    1,
  );
  expect(holdsOf(objects.held)).toMatchObject([
    {
      objects: 1,
      what: { kind: 'held-kind', heldKind: 'Pod', named: [{ uid: 'a', namespace: 'ns', name: 'a' }] },
    },
  ]);
});

const cascade = { ownerUid: 'owner', ownerKind: 'ConfigMap', objects: 7, ofKind: 9, within: null };
const withOwner = (uid: string, over: Parameters<typeof owner>[1] = {}) =>
  candidate({
    object: { uid, name: uid },
    references: [owner('owner', { state: 'gone', gone: { how: 'watched', orphaned: false }, ...over })],
    cascades: [cascade],
  });

test('[cluster S7] two owners that are told under one uid are two, and neither is shown in the place of the other', () => {
  const objects = objectsUnder();
  objects.fact(ownership({ candidates: [withOwner('a'), withOwner('b', { name: 'payments-db' })] }), 1);
  expect(holdsOf(objects.held)).toMatchObject([
    { what: { kind: 'owner', uid: 'owner', name: 'name-owner' }, objects: 1 },
    { what: { kind: 'owner', uid: 'owner', name: 'payments-db' }, objects: 1 },
  ]);
});

describe('what an executor holds that no decision knew of', () => {
  const FACTS = {
    why: 'the owner is not there, and its definition widgets.example.com is being deleted',
    ownerUid: 'owner',
    ownerKind: 'example.com/Forged',
    ownerName: 'forged',
    ownerNamespace: 'forged',
    objects: 1,
    ofKind: 1,
  };
  const fact = (...uids: readonly string[]): Ownership =>
    ownership({ candidates: uids.map((uid) => withOwner(uid)) });
  const refused = { outcome: 'refused', reason: 'not-approved', message: '' } as const;
  const result = (uid: string, told: ClusterObjectOutcome): ClusterObjectResults => {
    const results = clusterObjectResults();
    return {
      ...results,
      clusterInstance: fact().clusterInstance,
      objects: results.objects.slice(0, 1).map((each) => ({
        ...each,
        object: { ...each.object, uid },
        result: told,
      })),
    };
  };
  const wide = { limits: { cascade: 100, cascadeOfKind: 100, removalsPerHour: 100 } };
  function held(): HeldObjects {
    const objects = objectsUnder(wide);
    objects.fact(fact('a'), 1);
    objects.results(result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } }), 2);
    return objects;
  }

  test('[cluster S3, S7] is listed with the owner that its own fact names, as wide as the agent says its cascade is', () => {
    expect(holdsOf(held().held)).toMatchObject([
      {
        rule: 'S3',
        why: FACTS.why,
        objects: 1,
        sinceMs: 2,
        what: {
          kind: 'owner',
          uid: 'owner',
          ownerKind: 'ConfigMap',
          namespace: 'ns',
          name: 'name-owner',
          objects: 7,
        },
      },
    ]);
  });

  test.each([
    ['an object of which no agent told', 'b', 'owner'],
    ['an owner of which no agent told', 'a', 'another'],
  ])('[cluster S7] is not listed for %s', (_, uid, ownerUid) => {
    const objects = objectsUnder(wide);
    objects.fact(fact('a'), 1);
    const hold = { rule: 'S3', facts: { ...FACTS, ownerUid, objects: 1_000_000 } };
    objects.results(result(uid, { ...refused, hold }), 2);
    expect(objects.held).toEqual([]);
  });

  test.each(['constructor', '__proto__', 'S99'])(
    'by a rule %s is listed, and no approval ends it',
    (rule) => {
      const objects = held();
      objects.results(result('a', { ...refused, hold: { rule, facts: FACTS } }), 3);
      expect(holdsOf(objects.held)).toMatchObject([{ rule, what: null, objects: 1 }]);
    },
  );

  test('[cluster S7] is listed since it was held first, until it goes', () => {
    const objects = held();
    objects.fact(fact('a'), 3);
    objects.results(result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } }), 4);
    expect(objects.held).toMatchObject([{ object: { uid: 'a' }, sinceMs: 2, lastMs: 4 }]);
    objects.results(result('a', { outcome: 'removed' }), 5);
    expect(objects.held).toEqual([]);
  });

  test.each<readonly [string, (objects: HeldObjects) => void]>([
    ['it is refused for something else', (objects) => objects.results(result('a', refused), 3)],
    [
      'its owner is back',
      (objects) =>
        objects.fact(ownership({ candidates: [withOwner('a', { state: 'held', gone: null })] }), 3),
    ],
    [
      'it is no candidate any more',
      (objects) => {
        const { group, kind, namespace, name, uid } = candidate({ object: { uid: 'a' } }).object;
        const settled = [{ group, kind, namespace, name, uid, how: 'no-candidate' as const }];
        objects.fact({ ...fact(), settled }, 3);
      },
    ],
    ['its agent tells it no more', (objects) => objects.heard(15 * MINUTE_MS + 3)],
  ])('[cluster S7] is not listed any more once %s', (_, happens) => {
    const objects = held();
    happens(objects);
    expect(objects.held).toEqual([]);
  });

  test('[cluster S7] of another instance of the cluster nothing is listed', () => {
    const objects = objectsUnder(wide);
    objects.fact(fact('a'), 1);
    const told = result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } });
    objects.results({ ...told, clusterInstance: 'another' }, 2);
    expect(objects.held).toEqual([]);
  });
});

test('[P10] a fact that is too costly to decide holds nothing and is told, until one of its service is decided', () => {
  const forged = Array.from({ length: 100_000 }, (_, index) => `g/Kind${index}`);
  const costly = objectsUnder({ heldKinds: forged });
  const candidates = Array.from({ length: 40 }, (_, index) => candidate({ object: { uid: `u${index}` } }));
  costly.fact(ownership({ candidates }), 1);
  expect([costly.held, costly.isTooCostly]).toEqual([[], true]);
  costly.fact(onMissing(9), 2);
  expect(costly.isTooCostly).toBe(true);
  costly.fact(ownership({ candidates: [] }), 3);
  expect(costly.isTooCostly).toBe(false);
});

test('[cluster S3, S16] owners are counted once for all that a restored cluster holds, not once for each object', () => {
  const most = 500;
  const facts = (name: string) => ({
    ownerUid: name,
    ownerKind: 'apps/Deployment',
    ownerName: name,
    ownerNamespace: 'ns',
    objects: 1,
    ofKind: most,
  });
  const restored = Array.from({ length: most }, (_, index) => ({
    object: { group: 'apps', kind: 'ReplicaSet', namespace: 'ns', name: `r-${index}`, uid: `r-${index}` },
    topic: 'clusterOwnership' as const,
    verdict: { rule: 'S16', facts: facts(`d-${index}`) },
    sinceMs: 1,
    lastMs: 1,
  }));
  const noted = vi.spyOn(Set.prototype, 'add');
  const holds = holdsOf(restored);
  const steps = noted.mock.calls.length;
  noted.mockRestore();
  expect(holds).toMatchObject([{ rule: 'S16', objects: most, what: { kind: 'owner-kind', objects: most } }]);
  expect(steps).toBeLessThan(10 * most);
});
