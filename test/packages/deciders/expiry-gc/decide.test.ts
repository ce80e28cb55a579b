import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/expiry-gc/decide.ts';
import { expiryGcHandler } from '../../../../packages/deciders/expiry-gc/decider.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { parseValue } from '../../../../packages/records/parse/parse-record.ts';
import { ClusterDecision } from '../../../../schemas/events/cluster-decision.ts';
import { type ClusterPolicy, Collector } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import type { PauseRecord } from '../../../../schemas/policy/policy.ts';
import { approval, approvedRule } from '../../../fixtures/approval.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import {
  expiry,
  expiryCandidate,
  HOUR_MS,
  jobFacts,
  NOW_MS,
  requestFacts,
} from '../../../fixtures/expiry.ts';
import { pauseRecord } from '../../../fixtures/policy.ts';

const ALL = { collectors: Collector.options };
const denied = requestFacts({ conditions: [{ type: 'Denied', updatedAtMs: NOW_MS - 2 * HOUR_MS }] });
const FACT = expiry({
  candidates: [
    expiryCandidate({ object: { uid: 'job' } }),
    expiryCandidate({ object: { uid: 'request' }, facts: denied }),
    expiryCandidate({ object: { uid: 'young' }, facts: jobFacts({ finished: { atMs: NOW_MS } }) }),
  ],
});

const verdictsOf = ({ verdicts }: Pick<ClusterDecision, 'verdicts'>): string[] =>
  verdicts.map(({ position, action, rule }) => `${position} ${action} ${rule}`);

test('[cluster K6] each object gets its verdict, and what goes becomes an item with its propagation', () => {
  const { outcome, reason, verdicts, items } = decide(FACT, clusterPolicy(ALL), []);
  expect(verdictsOf({ verdicts: [...verdicts] })).toEqual(['0 expire K4', '1 expire L3', '2 keep K4']);
  expect(items.map(({ object: { uid }, rule, act }) => [uid, rule, act])).toEqual([
    ['job', 'K4', { action: 'expire', propagation: 'Foreground' }],
    ['request', 'L3', { action: 'expire', propagation: 'Background' }],
  ]);
  expect([outcome, reason]).toEqual(['commanded', '2 to delete as their time is over (K4, L3), 1 kept (K4)']);
});

test('what is the work of a collector that the policy does not give stays beside what goes', () => {
  const { outcome, verdicts, items } = decide(
    FACT,
    clusterPolicy({ collectors: ['certificatesigningrequest-cleaner-controller'] }),
    [],
  );
  expect(outcome).toBe('commanded');
  expect(verdictsOf({ verdicts: [...verdicts] })).toEqual(['0 keep K4', '1 expire L3', '2 keep K4']);
  expect(verdicts[0]?.facts).toMatchObject({ notGiven: 'ttl-after-finished-controller' });
  expect(items.map(({ object: { uid } }) => uid)).toEqual(['request']);
});

describe('what is held by a rule of the policy', () => {
  const failed = jobFacts({
    ttlSecondsAfterFinished: null,
    finished: { atMs: NOW_MS - HOUR_MS, type: 'Failed' },
  });
  const held = expiry({
    candidates: [expiryCandidate({ facts: failed }), expiryCandidate({ facts: denied })],
    shares: [{ kind: 'batch/Job', over: 20, objects: 20 }],
  });
  const rule: OwnRule = {
    name: 'old',
    kinds: ['batch/Job'],
    namespaces: [],
    states: ['Failed'],
    afterMs: HOUR_MS,
    propagation: 'Background',
    removalsPerHour: 100,
  };
  const rules = [rule];

  test('[cluster S11] is ours, whatever collectors the policy names, and what is not ours is kept beside it', () => {
    const { outcome, reason, verdicts } = decide(held, clusterPolicy({ rules }), []);
    expect(verdictsOf({ verdicts: [...verdicts] })).toEqual(['0 hold S11', '1 keep L3']);
    expect([outcome, reason]).toEqual(['nothing-to-do', '1 kept (L3), 1 held (S11)']);
  });

  test('[cluster S7] goes once it is approved, and the record names the approval', () => {
    const approvals = [approval(approvedRule(rule, 'batch/Job', 20))];
    const { outcome, verdicts } = decide(held, clusterPolicy({ rules }), approvals);
    expect(outcome).toBe('commanded');
    expect(verdicts[0]).toMatchObject({ action: 'expire', rule: 'S12', facts: { approvals: 'approval-1' } });
  });
});

function decided(over: Partial<ClusterPolicy>, pauses: readonly PauseRecord[] = []) {
  const set = policySet('cluster', [clusterPolicyRecord(over)], pauses);
  const position = { topic: 'gc.cluster.expiry', partition: 3, offset: '42', sha256: 'a'.repeat(64) };
  const outputs = expiryGcHandler(() => set)({ event: FACT, position }).flat();
  for (const { topic, event } of outputs) expect(parseValue(topic, event).ok).toBe(true);
  return { record: ClusterDecision.parse(outputs[0]?.event), topics: outputs.map(({ topic }) => topic) };
}

describe('a command follows', () => {
  test('only from a policy that gives the collector, and neither in a dry run nor in a pause', () => {
    expect(decided(ALL).topics).toEqual(['clusterDecisions', 'clusterCommands']);
    expect(decided({ ...ALL, mode: 'rehearse' }).topics).toEqual(['clusterDecisions', 'clusterCommands']);
    for (const [outcome, { record, topics }] of [
      ['dry-run', decided({ ...ALL, mode: 'dry-run' })],
      ['not-ours', decided({})],
      ['no-policy', decided({ ...ALL, selector: { clusters: ['another'] } })],
      ['paused', decided(ALL, [pauseRecord()])],
    ] as const) {
      expect(record.outcome).toBe(outcome);
      expect(topics).toEqual(['clusterDecisions']);
    }
  });
});
