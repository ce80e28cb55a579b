import { describe, expect, test } from 'vitest';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type CandidateTopic, HeldObjects } from '../../../services/cluster-holds/held-objects.ts';
import { holdsOf } from '../../../services/cluster-holds/holds.ts';
import { clusterDecision, clusterObjectResults } from '../../fixtures/cluster.ts';
import { NOW_MS } from '../../fixtures/expiry.ts';
import { candidate, ownership } from '../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';

const MINUTE_MS = 60_000;

const told = (...uids: readonly string[]) =>
  pods({ candidates: uids.map((uid) => podCandidate({ object: { uid, name: uid } })) });

const decided = (
  offset: string,
  facts: readonly ClusterDecision['verdicts'][number]['facts'][],
  rule = 'S1',
  topic: CandidateTopic = 'clusterPods',
): ClusterDecision => {
  const { input } = clusterDecision();
  return clusterDecision({
    input: { ...input, topic: TOPICS[topic].name, offset },
    verdicts: facts.map((each, position) => ({ position, action: 'hold', rule, facts: each })),
  });
};
const missing = (ofKind: number) => ({ ownerKind: 'Node', ofKind, limit: 5 });

/** Two pods of missing nodes, held. */
function twoHeld(): HeldObjects {
  const objects = new HeldObjects();
  objects.fact('clusterPods', told('a', 'b'), 1n, 0);
  objects.decision(decided('1', [missing(9), missing(9)]), 1);
  return objects;
}

test('[cluster S1] pods whose nodes came back are held no longer once their agent has not told them for a quarter of an hour', () => {
  const objects = twoHeld();
  objects.heard(14 * MINUTE_MS);
  expect(objects.held.map(({ uid }) => uid)).toEqual(['a', 'b']);
  objects.heard(15 * MINUTE_MS + 1);
  expect(objects.held).toEqual([]);
});

test('a decision is of the fact of its topic, though facts of several topics lie at one offset', () => {
  const objects = twoHeld();
  objects.fact('clusterExpiry', told('c'), 1n, 2);
  objects.decision(decided('1', [{ kind: 'Pod' }], 'S2', 'clusterExpiry'), 3);
  expect(objects.held.map(({ uid, topic }) => `${uid} ${topic}`)).toEqual([
    'a clusterPods',
    'b clusterPods',
    'c clusterExpiry',
  ]);
});

test('[cluster S7] an approval would name as many pods as the last decision said, and be as wide as it is now', () => {
  const objects = twoHeld();
  objects.fact('clusterPods', told('b'), 2n, 2);
  objects.decision(decided('2', [missing(7)]), 3);
  objects.fact('clusterPods', told('a'), 3n, 4);
  objects.decision(decided('3', [missing(8)]), 5);
  expect(holdsOf(objects.held)).toMatchObject([
    { objects: 2, sinceMs: 1, what: { kind: 'pods-of-missing-nodes', objects: 8 } },
  ]);
});

test('[cluster S7] of two decisions in one millisecond the later one counts', () => {
  const objects = twoHeld();
  objects.fact('clusterPods', told('a'), 2n, 1);
  objects.decision(decided('2', [missing(7)]), 1);
  expect(holdsOf(objects.held)).toMatchObject([{ what: { objects: 7 }, objects: 2 }]);
});

test('[cluster S7] an approval of a rule would name what was over last, and all that was told to be over', () => {
  const objects = new HeldObjects();
  const over = (of: number, dueAtMs: number) => ({
    ownRule: 'old',
    ruleSha256: 'a1',
    kind: 'Pod',
    over: of,
    objects: 99,
    dueAtMs,
  });
  objects.fact('clusterExpiry', told('a', 'b'), 1n, 0);
  objects.decision(decided('1', [over(40, NOW_MS), over(40, NOW_MS - 9)], 'S11', 'clusterExpiry'), 1);
  objects.fact('clusterExpiry', told('b'), 2n, 2);
  objects.decision(decided('2', [over(30, NOW_MS - 9)], 'S11', 'clusterExpiry'), 3);
  expect(holdsOf(objects.held)).toMatchObject([
    { what: { kind: 'rule', rule: 'old', ruleSha256: 'a1', ofKind: 'Pod', objects: 30, overByMs: NOW_MS } },
  ]);
});

test('[cluster S7] an approval of a rule that was changed would name it as it is now, and what that one takes', () => {
  const objects = new HeldObjects();
  const over = (ruleSha256: string, dueAtMs: number) => ({
    ownRule: 'old',
    ruleSha256,
    kind: 'Pod',
    over: 30,
    objects: 99,
    dueAtMs,
  });
  objects.fact('clusterExpiry', told('a', 'b'), 1n, 0);
  objects.decision(decided('1', [over('a1', NOW_MS), over('a1', NOW_MS)], 'S11', 'clusterExpiry'), 1);
  objects.fact('clusterExpiry', told('b'), 2n, 2);
  objects.decision(decided('2', [over('b2', NOW_MS - 9)], 'S11', 'clusterExpiry'), 3);
  expect(holdsOf(objects.held)).toMatchObject([{ what: { ruleSha256: 'b2', overByMs: NOW_MS - 9 } }]);
});

test('[cluster S2] an object that two services hold by its kind is one object, and is approved for both', () => {
  const objects = new HeldObjects();
  objects.fact('clusterPods', told('a'), 1n, 0);
  objects.fact('clusterExpiry', told('a'), 1n, 0);
  objects.decision(decided('1', [{ kind: 'Pod' }], 'S2'), 1);
  objects.decision(decided('1', [{ kind: 'Pod' }], 'S2', 'clusterExpiry'), 1);
  expect(holdsOf(objects.held)).toMatchObject([
    { objects: 1, what: { kind: 'held-kind', heldKind: 'Pod', uids: ['a'] } },
  ]);
});

describe('what an executor holds that no decision knew of', () => {
  const FACTS = {
    why: 'the owner is not there, and its definition widgets.example.com is being deleted',
    ownerUid: 'owner',
    ownerKind: 'example.com/Widget',
    ownerName: 'w',
    ownerNamespace: 'ns',
    objects: 1,
    ofKind: 1,
  };
  const cascade = {
    ownerUid: 'owner',
    ownerKind: 'example.com/Widget',
    objects: 7,
    ofKind: 9,
    within: null,
  };
  const fact = (...uids: readonly string[]) =>
    ownership({
      candidates: uids.map((uid) => candidate({ object: { uid, name: uid }, cascades: [cascade] })),
    });
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
  const decidedOn = (offset: string, action: 'delete' | 'keep'): ClusterDecision => ({
    ...decided(offset, [], 'D14', 'clusterOwnership'),
    verdicts: [{ position: 0, action, rule: 'D14', facts: {} }],
  });
  function held(): HeldObjects {
    const objects = new HeldObjects();
    objects.fact('clusterOwnership', fact('a'), 1n, 0);
    objects.decision(decidedOn('1', 'delete'), 1);
    objects.results(result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } }), 2);
    return objects;
  }

  test('[cluster S3, S7] is listed, and an approval would be as wide as the agent says its cascade is', () => {
    expect(holdsOf(held().held)).toMatchObject([
      {
        rule: 'S3',
        why: FACTS.why,
        objects: 1,
        sinceMs: 2,
        what: { kind: 'owner', uid: 'owner', ownerKind: 'example.com/Widget', name: 'w', objects: 7 },
      },
    ]);
  });

  test.each([
    ['an object of which no agent told', 'b', 'owner'],
    ['an owner of which no agent told', 'a', 'another'],
  ])('[cluster S7] is not listed for %s', (_, uid, ownerUid) => {
    const objects = new HeldObjects();
    objects.fact('clusterOwnership', fact('a'), 1n, 0);
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
    objects.decision(decidedOn('1', 'delete'), 3);
    objects.results(result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } }), 4);
    expect(objects.held).toMatchObject([{ uid: 'a', sinceMs: 2, lastMs: 4 }]);
    objects.results(result('a', { outcome: 'removed' }), 5);
    expect(objects.held).toEqual([]);
  });

  test.each<readonly [string, (objects: HeldObjects) => void]>([
    ['it is refused for something else', (objects) => objects.results(result('a', refused), 3)],
    ['it is decided that it stays', (objects) => objects.decision(decidedOn('1', 'keep'), 3)],
    [
      'it is no candidate any more',
      (objects) => {
        const { group, kind, namespace, name, uid } = candidate({ object: { uid: 'a' } }).object;
        const settled = [{ group, kind, namespace, name, uid, how: 'no-candidate' as const }];
        objects.fact('clusterOwnership', { ...fact(), settled }, 2n, 3);
      },
    ],
    ['its agent tells it no more', (objects) => objects.heard(15 * MINUTE_MS + 3)],
  ])('[cluster S7] is not listed any more once %s', (_, happens) => {
    const objects = held();
    happens(objects);
    expect(objects.held).toEqual([]);
  });

  test('[cluster S7] of another instance of the cluster nothing is listed', () => {
    const objects = new HeldObjects();
    objects.fact('clusterOwnership', fact('a'), 1n, 0);
    const told = result('a', { ...refused, hold: { rule: 'S3', facts: FACTS } });
    objects.results({ ...told, clusterInstance: 'another' }, 2);
    expect(objects.held).toEqual([]);
  });
});
