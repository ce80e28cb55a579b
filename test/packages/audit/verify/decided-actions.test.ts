import { describe, expect, test } from 'vitest';
import { actionCounts, decidedActions, itemName } from '../../../../packages/audit/verify/removals.ts';
import { clusterDecision, clusterItem, clusterObject } from '../../../fixtures/cluster.ts';
import { candidate, ownership } from '../../../fixtures/ownership.ts';

const verdict = (position: number, action: 'delete' | 'keep' | 'finish') => ({
  position,
  action,
  rule: 'D14',
  facts: {},
});
const DECISION = clusterDecision({
  verdicts: [verdict(1, 'delete'), verdict(0, 'keep'), verdict(2, 'delete')],
});
const FACT = ownership({
  candidates: ['x', 'y', 'z'].map((uid, index) =>
    candidate({ object: { uid, resourceVersion: String(index) } }),
  ),
});

test('what is decided about an object has the name that its item in a command has', () => {
  const actions = decidedActions(DECISION, FACT);
  const item = (uid: string, resourceVersion: string) =>
    itemName(clusterItem({ object: clusterObject({ uid, resourceVersion }) }));
  expect(actions).toEqual(new Set(['keep x of version 0', 'delete y of version 1', 'delete z of version 2']));
  expect(['x 0', 'y 1', 'y 2', 'z 2'].map((one) => item(one.slice(0, 1), one.slice(2)))).toEqual([
    'delete x of version 0',
    'delete y of version 1',
    'delete y of version 2',
    'delete z of version 2',
  ]);
});

test('a verdict on what the fact does not have says nothing', () => {
  const beyond = clusterDecision({ verdicts: [verdict(3, 'delete'), verdict(0, 'finish')] });
  expect(decidedActions(beyond, FACT)).toEqual(new Set(['finish x of version 0']));
});

test('each action is counted', () => {
  expect(actionCounts(DECISION)).toEqual(
    new Map([
      ['keep', 1],
      ['delete', 2],
    ]),
  );
});

describe('what cannot be read says nothing', () => {
  const [given] = FACT.candidates;
  test.each<{ name: string; decision: unknown }>([
    { name: 'no object', decision: 'text' },
    { name: 'no verdicts', decision: {} },
    { name: 'a verdict without a position', decision: { verdicts: [{ action: 'delete' }] } },
    { name: 'a verdict without an action', decision: { verdicts: [{ position: 0 }] } },
  ])('a decision: $name', ({ decision }) => {
    expect([actionCounts(decision), decidedActions(decision, FACT)]).toEqual([null, null]);
  });

  test.each<{ name: string; fact: unknown }>([
    { name: 'no object', fact: null },
    { name: 'no candidates', fact: {} },
    { name: 'a candidate that is none', fact: { candidates: [given, 1] } },
    { name: 'a candidate without its object', fact: { candidates: [{}] } },
    { name: 'an object without a uid', fact: { candidates: [{ object: { resourceVersion: '1' } }] } },
    { name: 'an object without a version', fact: { candidates: [{ object: { uid: 'x' } }] } },
  ])('a fact: $name', ({ fact }) => {
    expect(decidedActions(DECISION, fact)).toBeNull();
  });
});
