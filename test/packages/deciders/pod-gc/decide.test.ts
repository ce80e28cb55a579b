import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pod-gc/decide.ts';
import type { PodRemovalCause } from '../../../../schemas/events/cluster-command.ts';
import type { PodCandidate, Pods } from '../../../../schemas/events/pods.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { approval, approvedObjects, approvedOwners, approvedPods } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { DELETED_AT, podCandidate, pods } from '../../../fixtures/pods.ts';
import { AnyPods } from './support/any-pod.ts';

const COLLECTOR = 'pod-garbage-collector-controller';
const policyOf = (over: Partial<ClusterPolicy> = {}): ClusterPolicy =>
  clusterPolicy({ collectors: [COLLECTOR], terminatedPodGCThreshold: 1, ...over });

type Over = Parameters<typeof podCandidate>[0];
const pod = (uid: string, over: Over = {}): PodCandidate =>
  podCandidate({ ...over, object: { name: uid, uid, ...over.object } });

const ended = (uid: string, over: Over = {}): PodCandidate => pod(uid, { phase: 'Succeeded', ...over });
const deleted = (uid: string, over: Over = {}): PodCandidate =>
  pod(uid, { graceSeconds: 30, ...over, object: { deletionTimestamp: DELETED_AT, ...over.object } });
const OUT_OF_SERVICE = { state: 'there', name: 'n', isReady: false, isOutOfService: true } as const;
const gone = (missingForMs = 40_000) => ({ state: 'missing', name: 'n', missingForMs }) as const;

/** In words, by pod: `a remove-pod J3`. */
function words(
  candidates: readonly PodCandidate[],
  policy = policyOf(),
  over: Omit<Parameters<typeof pods>[0] & object, 'candidates'> = {},
  ...approved: readonly Approved[]
): string[] {
  const approvals = approved.map((what) => approval(what));
  const { verdicts } = decide(pods({ ...over, candidates: [...candidates] }), policy, approvals);
  return verdicts.map(
    ({ position, action, rule }) => `${candidates[position]?.object.uid} ${action} ${rule}`,
  );
}
const wordsOf = (candidate: PodCandidate, policy = policyOf()): string | undefined =>
  words([candidate], policy)[0];

describe('[cluster J3, N12] pods that have ended', () => {
  test('go as far as more are there than may stay, in the whole cluster: evicted first, then the oldest, then by name', () => {
    const candidates = [
      ended('young', { createdAtMs: 9 }),
      ended('b', { createdAtMs: 5 }),
      ended('a', { createdAtMs: 5 }),
      ended('evicted', { phase: 'Failed', isEvicted: true, createdAtMs: 99 }),
    ];
    const going = (terminated: number): string[] =>
      words(candidates, policyOf({ terminatedPodGCThreshold: 10 }), { totals: { terminated } })
        .filter((each) => each.endsWith('remove-pod J3'))
        .map((each) => each.split(' ')[0] ?? '');
    expect(going(10)).toEqual([]);
    expect(going(11)).toEqual(['evicted']);
    expect(going(12)).toEqual(['a', 'evicted']);
    expect(going(13)).toEqual(['b', 'a', 'evicted']);
    expect(going(100)).toEqual(['young', 'b', 'a', 'evicted']);
  });

  test.each<[string, boolean]>([
    ['', true],
    ['Succeeded', true],
    ['Failed', true],
    ['Other', true],
    ['Pending', false],
    ['Running', false],
    ['Unknown', false],
  ])('of phase "%s" one counts as ended: %s', (phase, isEnded) => {
    const told = words([pod('a', { phase })], policyOf(), { totals: { terminated: 9 } });
    expect(told).toEqual([isEnded ? 'a remove-pod J3' : 'a keep J1']);
  });

  test.each([
    ['0', { terminatedPodGCThreshold: 0 }],
    ['none', { terminatedPodGCThreshold: undefined }],
  ])('all stay with a threshold of %s', (_, { terminatedPodGCThreshold }) => {
    const { terminatedPodGCThreshold: _without, ...rest } = policyOf();
    const policy = terminatedPodGCThreshold === undefined ? rest : { ...rest, terminatedPodGCThreshold };
    expect(words([ended('a')], policy, { totals: { terminated: 1_000_000 } })).toEqual(['a keep J3']);
  });

  test('[cluster J4] those that are being deleted count, and go again', () => {
    const again = deleted('a', { phase: 'Failed' });
    expect(words([again], policyOf(), { totals: { terminated: 2 } })).toEqual(['a remove-pod J3']);
  });

  test('[cluster J11, S5] what cannot go or is kept uses up nothing of what is too much', () => {
    const stuck = deleted('stuck', {
      phase: 'Failed',
      graceSeconds: 0,
      createdAtMs: 1,
      object: { finalizers: ['f'] },
    });
    const kept = ended('kept', { createdAtMs: 2, object: { keptBy: 'object' } });
    const told = words([stuck, kept, ended('a'), ended('b')], policyOf(), { totals: { terminated: 2 } });
    expect(told).toEqual(['stuck keep J11', 'kept keep S5', 'a remove-pod J3', 'b keep J3']);
  });
});

test('[cluster J5] a deleted pod goes at once if its node is not ready and out of service', () => {
  expect(wordsOf(deleted('a', { node: OUT_OF_SERVICE }))).toBe('a remove-pod J5');
  expect(wordsOf(pod('a', { node: OUT_OF_SERVICE }))).toBe('a keep J1');
  expect(wordsOf(deleted('a', { node: { ...OUT_OF_SERVICE, isReady: true } }))).toBe('a keep J1');
  expect(wordsOf(deleted('a', { node: { ...OUT_OF_SERVICE, isOutOfService: false } }))).toBe('a keep J1');
});

test('[cluster J6, J8] all pods of a node go once it has been missing for 40 s, whatever their phase', () => {
  expect(wordsOf(pod('a', { node: gone(39_999) }))).toBe('a keep J6');
  for (const phase of ['Pending', 'Running', 'Unknown', 'Succeeded', 'Failed', ''])
    expect(wordsOf(pod('a', { phase, node: gone() }))).toBe('a remove-pod J8');
});

test('[cluster J9] a deleted pod without a node goes', () => {
  expect(wordsOf(deleted('a', { node: { state: 'none' } }))).toBe('a remove-pod J9');
  expect(wordsOf(pod('a', { phase: 'Pending', node: { state: 'none' } }))).toBe('a keep J1');
});

test('[cluster J1, J10] a pod goes once, for the first rule that applies', () => {
  const both = [ended('a', { node: gone() }), deleted('b', { phase: 'Failed', node: OUT_OF_SERVICE })];
  const { items } = decide(pods({ candidates: both, totals: { terminated: 1 } }), policyOf(), []);
  expect(items.map(({ object, rule, act }) => [object.uid, rule, act])).toEqual([
    ['a', 'J8', { action: 'remove-pod', because: 'node-gone' }],
    ['b', 'J5', { action: 'remove-pod', because: 'out-of-service' }],
  ]);
  const more = decide(pods({ candidates: both, totals: { terminated: 9 } }), policyOf(), []);
  expect(more.items.map(({ object, rule }) => [object.uid, rule])).toEqual([
    ['a', 'J3'],
    ['b', 'J3'],
  ]);
});

test('[cluster J11] what finalizers alone hold is left alone by every rule', () => {
  for (const node of [gone(), OUT_OF_SERVICE, { state: 'none' } as const]) {
    const held = { phase: 'Failed', graceSeconds: 0, node, object: { finalizers: ['f'] } };
    expect(wordsOf(deleted('a', held))).toBe('a keep J11');
    expect(wordsOf(deleted('a', { ...held, phase: 'Running' }))).toContain('remove-pod');
    expect(wordsOf(deleted('a', { ...held, graceSeconds: 1 }))).toContain('remove-pod');
    expect(wordsOf(deleted('a', { ...held, object: { finalizers: [] } }))).toContain('remove-pod');
  }
});

describe('in profile fleetgc', () => {
  test('[cluster S5] what somebody keeps stays', () => {
    const one = pod('a', { node: gone() });
    expect(words([one], policyOf({ keep: { namespaces: ['ns'], kinds: [] } }))).toEqual(['a keep S5']);
    expect(words([one], policyOf({ keep: { namespaces: [], kinds: ['Pod'] } }))).toEqual(['a keep S5']);
    expect(wordsOf(pod('a', { node: gone(), object: { keptBy: 'namespace' } }))).toBe('a keep S5');
  });

  test('[cluster S1, S2, S3] many on missing nodes, pods that are held by kind, and what follows a restore are held', () => {
    const one = pod('a', { node: gone() });
    const limits = { cascade: 1, cascadeOfKind: 5, removalsPerHour: 9 };
    expect(words([one], policyOf({ limits }), { totals: { onMissingNodes: 5 } })).toEqual([
      'a remove-pod J8',
    ]);
    expect(words([one], policyOf({ limits }), { totals: { onMissingNodes: 6 } })).toEqual(['a hold S1']);
    expect(words([one], policyOf({ heldKinds: ['Pod'] }))).toEqual(['a hold S2']);
    expect(words([one], policyOf(), { wentBack: true })).toEqual(['a hold S3']);
    const unscheduled = deleted('b', { node: { state: 'none' } });
    expect(
      words([unscheduled], policyOf({ limits }), { wentBack: true, totals: { onMissingNodes: 6 } }),
    ).toEqual(['b remove-pod J9']);
  });

  test('and in profile kubernetes none of this holds', () => {
    const one = pod('a', { node: gone(), object: { keptBy: 'object' } });
    const policy = policyOf({ profile: 'kubernetes', heldKinds: ['Pod'] });
    expect(words([one], policy, { wentBack: true, totals: { onMissingNodes: 9_999 } })).toEqual([
      'a remove-pod J8',
    ]);
  });
});

describe('[cluster S7] an approval of pods of missing nodes lets them go, and no more than there were', () => {
  const one = pod('a', { node: gone() });
  const policy = policyOf({ limits: { cascade: 1, cascadeOfKind: 5, removalsPerHour: 9 } });
  const MANY = { totals: { onMissingNodes: 60 } };

  test.each<[string, Approved[], string]>([
    ['as many as there are', [approvedPods(60)], 'a remove-pod J8'],
    ['more than are left', [approvedPods(61)], 'a remove-pod J8'],
    ['one less: they have grown', [approvedPods(59)], 'a hold S1'],
    ['what goes with owners of kind Node', [approvedOwners('Node', 9_999)], 'a hold S1'],
    ['the pod itself, as one of a held kind', [approvedObjects('Pod', 'a')], 'a hold S1'],
    ['pods of another node', [approvedPods(60, ['other'])], 'a hold S1'],
    ['nothing', [], 'a hold S1'],
  ])('[cluster S1] %s', (_, approved, expected) => {
    expect(words([one], policy, MANY, ...approved)).toEqual([expected]);
  });

  test('[cluster S3] it ends nothing that is held after a restore', () => {
    expect(words([one], policy, { ...MANY, wentBack: true }, approvedPods(60))).toEqual(['a hold S3']);
  });

  test('[cluster S2] nor what is held by its kind: that takes an approval of the pod itself', () => {
    const heldKinds = { ...policy, heldKinds: ['Pod'] };
    expect(words([one], heldKinds, MANY, approvedPods(60))).toEqual(['a hold S2']);
    expect(words([one], heldKinds, MANY, approvedObjects('Pod', 'a'))).toEqual(['a hold S1']);
    expect(words([one], heldKinds, MANY, approvedPods(60), approvedObjects('Pod', 'b'))).toEqual([
      'a hold S2',
    ]);
    expect(words([one], heldKinds, MANY, approvedPods(60), approvedObjects('Pod', 'a'))).toEqual([
      'a remove-pod J8',
    ]);
  });

  test('the record names what let it go', () => {
    const facts = (onMissingNodes: number) =>
      decide(pods({ candidates: [one], totals: { onMissingNodes } }), policy, [approval(approvedPods(60))])
        .verdicts[0]?.facts;
    expect(facts(60)).toMatchObject({ approvals: 'approval-1' });
    expect(facts(5)).not.toHaveProperty('approvals');
  });

  test('whatever is approved, no pod goes that another policy than one without limit would keep, nor more than were approved', () => {
    const free = policyOf({ limits: { cascade: 1, cascadeOfKind: 1_000_000, removalsPerHour: 9 } });
    fc.assert(
      fc.property(AnyFact, fc.integer({ min: 1, max: 20 }), (fact, objects) => {
        const { items } = decide(fact, policy, [approval(approvedPods(objects))]);
        const going = decide(fact, free, []).items.map(({ object: { uid } }) => uid);
        expect(going).toEqual(expect.arrayContaining(items.map(({ object: { uid } }) => uid)));
        const { onMissingNodes } = fact.totals;
        if (items.some(({ rule }) => rule === 'J8'))
          expect(fact.wentBack || onMissingNodes > Math.max(5, objects)).toBe(false);
      }),
    );
  });
});

test('what follows from a policy that gives FleetGC no such work, or only asks', () => {
  const fact = pods({ candidates: [pod('a', { node: gone() })] });
  const outcome = (over: Partial<ClusterPolicy>): string => decide(fact, policyOf(over), []).outcome;
  expect(outcome({})).toBe('commanded');
  expect(outcome({ collectors: ['garbage-collector-controller'] })).toBe('not-ours');
  expect(outcome({ mode: 'dry-run' })).toBe('dry-run');
  expect(outcome({ mode: 'rehearse' })).toBe('commanded');
  expect(decide(pods(), policyOf(), []).outcome).toBe('nothing-to-do');
  expect(decide(fact, policyOf(), []).reason).toBe('1 to remove (J8)');
});

const AnyFact: fc.Arbitrary<Pods> = fc
  .record({ candidates: AnyPods, terminated: fc.nat(20), onMissingNodes: fc.nat(20), wentBack: fc.boolean() })
  .map(({ candidates, wentBack, ...totals }) => pods({ candidates: [...candidates], totals, wentBack }));

test('[cluster J3, J10, J11] no more that ended go than are too many, none twice, and nothing that is kept', () => {
  fc.assert(
    fc.property(AnyFact, fc.nat(5), (fact, terminatedPodGCThreshold) => {
      const { items, verdicts } = decide(fact, policyOf({ terminatedPodGCThreshold }), []);
      expect(verdicts).toHaveLength(fact.candidates.length);
      const uids = items.map(({ object }) => object.uid);
      expect(new Set(uids).size).toBe(uids.length);
      const tooMany =
        terminatedPodGCThreshold === 0 ? 0 : Math.max(0, fact.totals.terminated - terminatedPodGCThreshold);
      expect(items.filter(({ rule }) => rule === 'J3').length).toBeLessThanOrEqual(tooMany);
      for (const { object, act } of items) {
        const found = fact.candidates.find((each) => each.object.uid === object.uid);
        expect(found?.object.keptBy).toBe(null);
        if (found === undefined || act.action !== 'remove-pod') throw new Error('no pod');
        expect(CALLED_FOR[act.because](found)).toBe(true);
      }
    }),
  );
});

/** Judged apart from the product's own rules. */
const CALLED_FOR: Readonly<Record<PodRemovalCause, (pod: PodCandidate) => boolean>> = {
  terminated: ({ phase }) => phase !== 'Running' && phase !== 'Pending' && phase !== 'Unknown',
  'out-of-service': ({ object, node }) =>
    object.deletionTimestamp !== null && node.state === 'there' && !node.isReady && node.isOutOfService,
  'node-gone': ({ node }) => node.state === 'missing' && node.missingForMs >= 40_000,
  unscheduled: ({ object, node }) => object.deletionTimestamp !== null && node.state === 'none',
};

test('what becomes of a fact does not depend on the order of its pods', () => {
  fc.assert(
    fc.property(AnyFact, (fact) => {
      const byUid = (event: Pods): Map<string | undefined, string> =>
        new Map(
          decide(event, policyOf(), []).verdicts.map(({ position, action, rule }) => [
            event.candidates[position]?.object.uid,
            `${action} ${rule}`,
          ]),
        );
      expect(byUid({ ...fact, candidates: fact.candidates.toReversed() })).toEqual(byUid(fact));
    }),
  );
});

test('in profile fleetgc no pod goes that stays in profile kubernetes', () => {
  fc.assert(
    fc.property(AnyFact, (fact) => {
      const going = (profile: ClusterPolicy['profile']): string[] =>
        decide(fact, policyOf({ profile, terminatedPodGCThreshold: 0 }), []).items.map(
          ({ object }) => object.uid,
        );
      expect(going('kubernetes')).toEqual(expect.arrayContaining(going('fleetgc')));
    }),
  );
});
