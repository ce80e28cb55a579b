import { expect, test } from 'vitest';
import { expiryGcHandler } from '../../../packages/deciders/expiry-gc/decider.ts';
import { graphGcHandler } from '../../../packages/deciders/graph-gc/decider.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { DiskStats, MAX_BUCKETS } from '../../../schemas/events/disk-stats.ts';
import { MAX_EXPIRING } from '../../../schemas/events/expiry.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import { MAX_CANDIDATE_REFERENCES, MAX_CANDIDATES } from '../../../schemas/events/ownership.ts';
import { type ApprovalRecord, MAX_APPROVED_OBJECTS } from '../../../schemas/policy/approval.ts';
import { type ClusterPolicy, MAX_POLICY_NAMES } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { approval, approvedOwners } from '../../fixtures/approval.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { expiry } from '../../fixtures/expiry.ts';
import { input } from '../../fixtures/input.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';

test('disk statistics with more buckets than any agent writes are no event', () => {
  const withBuckets = (count: number) => {
    const list = Array.from({ length: count }, (_, at) => [at, '1', '1', '1']);
    const history = { availableBytes: list, inodesFree: [] };
    return DiskStats.safeParse({
      ...diskStats(),
      history: { nodefs: history, imagefs: history, containerfs: history },
    });
  };
  expect([withBuckets(MAX_BUCKETS).success, withBuckets(MAX_BUCKETS + 1).success]).toEqual([true, false]);
});

/** Rules with so many names in all. */
function rulesOf(names: number): OwnRule[] {
  return Array.from({ length: Math.ceil(names / 1_000) }, (_, rule) => ({
    name: `r${rule}`,
    kinds: Array.from(
      { length: Math.min(999, names - 1_000 * rule - 1) },
      (_each, index) => `g/Kind${index}`,
    ),
    namespaces: ['scratch'],
    afterMs: 3_600_000,
    propagation: 'Background',
    removalsPerHour: 1,
  }));
}

function decidedUnder(names: number) {
  const policy = clusterPolicy({
    mode: 'enforce',
    heldKinds: [],
    keep: { namespaces: [], kinds: [] },
    rules: rulesOf(names),
  });
  const record = {
    type: 'fleetgc.cluster-policy',
    version: 1,
    id: 'policy-1',
    policy,
    policyVersion: 1,
    hash: 'a'.repeat(64),
    source: '',
  } as const;
  const [candidate] = expiry().candidates;
  const fact = expiry({
    candidates: Array.from({ length: MAX_EXPIRING }, () => candidate).filter((one) => one !== undefined),
  });
  const [decided] = expiryGcHandler(() => policySet('cluster', [record], []))(
    input('clusterExpiry', fact),
  ).flat();
  return JSON.parse(decided?.text ?? 'null');
}

test('the largest fact under the largest policy for clusters is decided', () => {
  expect(decidedUnder(MAX_POLICY_NAMES).outcome).not.toBe('too-costly');
});

test('[P10] a policy for clusters beyond its bounds, as a forged set could hold it, keeps every object', () => {
  const decided = decidedUnder(2 * MAX_POLICY_NAMES);
  expect(decided.outcome).toBe('too-costly');
  expect(decided.verdicts).toHaveLength(MAX_EXPIRING);
  for (const { action, rule } of decided.verdicts) expect([action, rule]).toEqual(['keep', 'P10']);
  expect(decided.outputIds).toEqual([]);
});

const policyOf = (over: Partial<ClusterPolicy> = {}) =>
  clusterPolicyRecord({ mode: 'enforce', heldKinds: [], keep: { namespaces: [], kinds: [] }, ...over });
const outcomeOf = (fact: Ownership, approvals: readonly ApprovalRecord[] = []): string => {
  const [decided] = graphGcHandler(() => policySet('cluster', [policyOf()], [], approvals))(
    input('clusterOwnership', fact),
  ).flat();
  return JSON.parse(decided?.text ?? 'null').outcome;
};
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const GONE = { state: 'gone', gone: { how: 'watched', orphaned: false } } as const;
const withOwners = (count: number, owners: number): Ownership =>
  ownership({
    candidates: many(count, (at) =>
      candidate({
        object: { uid: `u${at}` },
        references: many(owners, (index) => owner(`o${index}`, GONE)),
        cascades: many(owners, (index) => ({
          ownerUid: `o${index}`,
          ownerKind: 'ConfigMap',
          objects: 2,
          ofKind: 2,
          within: null,
        })),
      }),
    ),
  });

test('[P10] each owner of a candidate is held against each of its references: both count', () => {
  expect(outcomeOf(withOwners(400, MAX_CANDIDATE_REFERENCES))).toBe('too-costly');
  expect(outcomeOf(withOwners(MAX_CANDIDATES, 4))).not.toBe('too-costly');
});

test('[P10] approvals count by the objects that they name', () => {
  const approvals = (count: number): ApprovalRecord[] =>
    many(count, (at) =>
      approval(
        approvedOwners(
          `g/Kind${at}`,
          1,
          many(MAX_APPROVED_OBJECTS, (index) => `o${index}`),
        ),
        {
          id: `a${at}`,
        },
      ),
    );
  expect(outcomeOf(withOwners(1, 1), approvals(400))).toBe('too-costly');
  expect(outcomeOf(withOwners(1, 1), approvals(50))).not.toBe('too-costly');
});
