import { expect, test } from 'vitest';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type CandidateTopic, HeldObjects } from '../../../services/cluster-holds/held-objects.ts';
import { holdsOf } from '../../../services/cluster-holds/holds.ts';
import { clusterDecision } from '../../fixtures/cluster.ts';
import { NOW_MS } from '../../fixtures/expiry.ts';
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
