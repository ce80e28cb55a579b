import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/graph-gc/decide.ts';
import { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { OwnershipCandidate } from '../../../../schemas/events/ownership.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { runs } from '../../../support/property-runs.ts';
import { AnyCandidate } from './support/any-candidate.ts';

const named = (uid: string, over: Parameters<typeof candidate>[0] = {}): OwnershipCandidate =>
  candidate({ ...over, object: { uid, name: uid, ...over.object } });
const GONE = owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } });
const dangling = named('dangling', { references: [GONE] });
const shared = named('shared', { references: [GONE, owner('p')] });
const finishing = named('finishing', {
  object: { deletionTimestamp: '2026-11-01T00:00:00Z', finalizers: ['orphan'] },
});
const held = named('held', {
  references: [GONE],
  cascades: [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 1_001, ofKind: 1_001, within: null }],
});
const copied = named('copied', { references: [owner('q', { state: 'elsewhere' })] });
const ALL = ownership({ candidates: [dangling, shared, finishing, held, copied] });

test('[cluster D11, D14, E3, S1, S4] each candidate gets its verdict, and what is to be done becomes an item', () => {
  const { outcome, reason, verdicts, items } = decide(ALL, clusterPolicy(), []);
  expect(verdicts.map(({ position, action, rule }) => `${position} ${action} ${rule}`)).toEqual([
    '0 delete D14',
    '1 drop-references D11',
    '2 finish E3',
    '3 hold S1',
    '4 keep S4',
  ]);
  expect(items.map(({ object: { name }, rule, act }) => [name, rule, act])).toEqual([
    ['dangling', 'D14', { action: 'delete', propagation: 'Background', unblock: false }],
    ['shared', 'D11', { action: 'drop-references', ownerUids: ['o'] }],
    ['finishing', 'E3', { action: 'finish', finalizer: 'orphan' }],
  ]);
  for (const item of items) expect(ClusterCommandItem.parse(item)).toEqual(item);
  expect(outcome).toBe('commanded');
  expect(reason).toBe(
    '1 to delete (D14), 1 to lose references (D11), 1 to lose a finalizer (E3), 1 kept (S4), 1 held (S1)',
  );
});

test('[cluster M14] a verdict says what would be done, by which rule and for which owner', () => {
  const [first, second, third] = decide(ALL, clusterPolicy({ mode: 'dry-run' }), []).verdicts;
  expect([first?.rule, second?.rule, third?.rule]).toEqual(['D14', 'D11', 'E3']);
  const because = { ownerKind: 'ConfigMap', ownerName: 'name-o', ownerUid: 'o', ownerIs: 'absent' };
  expect(first?.facts).toEqual({
    ...{ dangling: 1, waiting: 0, dependents: 0 },
    propagation: 'Background',
    ...because,
  });
  expect(second?.facts).toEqual({ owners: 1, ...because });
  expect(third?.facts).toEqual({ finalizer: 'orphan' });
});

describe('what comes of it', () => {
  test.each([
    ['enforce', clusterPolicy(), 'commanded'],
    ['rehearse', clusterPolicy({ mode: 'rehearse' }), 'commanded'],
    ['dry-run', clusterPolicy({ mode: 'dry-run' }), 'dry-run'],
    ['a collector that is not ours', clusterPolicy({ collectors: [] }), 'not-ours'],
    ['both', clusterPolicy({ collectors: [], mode: 'dry-run' }), 'not-ours'],
  ] as const)('with %s', (_, policy, outcome) => {
    const decided = decide(ALL, policy, []);
    expect(decided.outcome).toBe(outcome);
    expect(decided.verdicts).toEqual(decide(ALL, clusterPolicy(), []).verdicts);
  });

  test('with nothing that goes, nothing is to do, and the reason says what is held', () => {
    const decided = decide(ownership({ candidates: [held, copied] }), clusterPolicy(), []);
    expect([decided.outcome, decided.reason]).toEqual(['nothing-to-do', '1 kept (S4), 1 held (S1)']);
    expect(decide(ownership(), clusterPolicy(), []).reason).toBe('no candidates');
  });

  test('[cluster S2, S5] held kinds and the keep list come from the policy', () => {
    const fact = ownership({ candidates: [dangling] });
    const rules = [
      clusterPolicy({ heldKinds: ['ConfigMap'] }),
      clusterPolicy({ keep: { namespaces: ['ns'], kinds: [] } }),
      clusterPolicy({ keep: { namespaces: [], kinds: ['ConfigMap'] } }),
    ].map((policy) => decide(fact, policy, []).verdicts[0]?.rule);
    expect(rules).toEqual(['S2', 'S5', 'S5']);
  });
});

const AnyCandidates = fc
  .array(AnyCandidate, { maxLength: 6 })
  .map((candidates) =>
    candidates.map((each, index) => ({ ...each, object: { ...each.object, uid: `u${index}` } })),
  );
const AnyPolicy = fc
  .record({
    mode: fc.constantFrom('dry-run', 'rehearse', 'enforce'),
    profile: fc.constantFrom('fleetgc', 'kubernetes'),
    isOurs: fc.boolean(),
  })
  .map(({ isOurs, ...over }) => clusterPolicy({ ...over, ...(!isOurs && { collectors: [] }) }));

test('the same fact and policy give the same, and only what is to be done is an item, each once', () => {
  fc.assert(
    fc.property(AnyCandidates, AnyPolicy, fc.boolean(), (candidates, policy, wentBack) => {
      const fact = ownership({ candidates, wentBack });
      const before = structuredClone({ fact, policy });
      const { verdicts, items, outcome } = decide(fact, policy, []);
      expect(decide(fact, policy, [])).toEqual({ ...decide(structuredClone(fact), policy, []) });
      expect({ fact, policy }).toEqual(before);
      expect(verdicts.map(({ position }) => position)).toEqual(candidates.map((_, index) => index));
      const going = verdicts.filter(({ action }) => action !== 'keep' && action !== 'hold');
      expect(items.map(({ object: { uid }, rule, act: { action } }) => [uid, rule, action])).toEqual(
        going.map(({ position, rule, action }) => [candidates[position]?.object.uid, rule, action]),
      );
      if (outcome === 'commanded') {
        expect(items.length).toBeGreaterThan(0);
        expect([policy.mode, policy.collectors.length]).not.toContain('dry-run');
        expect(policy.collectors).toContain('garbage-collector-controller');
      }
    }),
    runs(1_000),
  );
});

test('what becomes of a candidate does not depend on the others, nor on their order', () => {
  fc.assert(
    fc.property(AnyCandidates, AnyPolicy, (candidates, policy) => {
      const together = decide(ownership({ candidates }), policy, []).verdicts;
      const backwards = decide(ownership({ candidates: candidates.toReversed() }), policy, []).verdicts;
      const without = ({ action, rule, facts }: (typeof together)[number]) => ({ action, rule, facts });
      expect(backwards.map(without).toReversed()).toEqual(together.map(without));
      const alone = candidates.map(
        (each) => decide(ownership({ candidates: [each] }), policy, []).verdicts[0],
      );
      expect(alone.map((each) => each && without(each))).toEqual(together.map(without));
    }),
    runs(500),
  );
});

type Item = ClusterCommandItem | undefined;
const subset = (some: readonly string[], all: readonly string[]): boolean =>
  some.every((each) => all.includes(each));
/** An action takes nothing of an object, some of its references, or itself. */
const isNoMoreThan = (less: Item, more: Item): boolean => {
  if (less === undefined) return true;
  if (more === undefined) return false;
  if (less.act.action !== 'drop-references') return JSON.stringify(less.act) === JSON.stringify(more.act);
  if (more.act.action === 'delete') return true;
  const { ownerUids } = less.act;
  return more.act.action === 'drop-references' && subset(ownerUids, more.act.ownerUids);
};

test('[cluster S1, S2, S3, S4, S5, S6] profile fleetgc does to each object what profile kubernetes does, or less', () => {
  fc.assert(
    fc.property(AnyCandidates, fc.boolean(), (candidates, wentBack) => {
      const itemsBy = (profile: 'fleetgc' | 'kubernetes') =>
        decide(ownership({ candidates, wentBack }), clusterPolicy({ profile }), []).items;
      const upstream = new Map(itemsBy('kubernetes').map((item) => [item.object.uid, item]));
      for (const item of itemsBy('fleetgc'))
        expect(isNoMoreThan(item, upstream.get(item.object.uid))).toBe(true);
    }),
    runs(3_000),
  );
});
