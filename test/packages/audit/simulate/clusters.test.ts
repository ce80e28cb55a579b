import { expect, test } from 'vitest';
import { simulateClusters } from '../../../../packages/audit/simulate/clusters.ts';
import { newestClusterDeciders } from '../../../../packages/audit/simulate/compare.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { clusterSimulationLines } from '../../../../packages/documents/simulation.ts';
import type { ClusterObjectOutcome } from '../../../../schemas/events/cluster-result.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterSimulation } from '../../../../schemas/reports/cluster-simulation.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { logOf } from '../support/archives.ts';
import { begun, type ClusterHistory, commandIn, objectResults } from '../support/cluster-history.ts';

const WENT = owner('o', { state: 'gone' });
const doomed = (uid: string, objects = 1) =>
  candidate({
    object: { uid, name: uid },
    references: [WENT],
    cascades: [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects, ofKind: objects, within: null }],
  });
const setOf = (over: Partial<ClusterPolicy>) => policySet('cluster', [clusterPolicyRecord(over)], []);
const LIMIT_5 = { limits: { cascade: 5, cascadeOfKind: 5_000, removalsPerHour: 10_000 } };

async function simulated(
  { records }: Pick<ClusterHistory, 'records'>,
  over: Partial<ClusterPolicy>,
  against: Partial<ClusterPolicy> | null = null,
): Promise<ClusterSimulation> {
  const comparison = {
    policy: setOf(over),
    against: against && setOf(against),
    deciders: await newestClusterDeciders(),
  };
  const needs = { log: logOf(records), range: { fromMs: null, toMs: null }, cluster: null };
  const simulation = await simulateClusters(
    { ...needs, comparison, onProgress: () => undefined },
    new AbortController().signal,
  );
  expect(ClusterSimulation.parse(simulation)).toEqual(simulation);
  return simulation;
}

function carriedOut(log: ClusterHistory, outcome: ClusterObjectOutcome): ClusterHistory {
  const command = commandIn(log.decide(ownership({ candidates: [doomed('x', 10), doomed('y')] })).command);
  const objects = objectResults(command).objects.map((told) => ({ ...told, result: outcome }));
  log.carryOut(command, { objects: { objects } });
  return log;
}

const REMOVED = { outcome: 'removed' } as const;

test('the policy that held makes no difference', async () => {
  const { total, differences } = await simulated(carriedOut(begun(), REMOVED), {});
  expect(total).toEqual({ objects: 2, policy: { deleted: 2 }, against: { deleted: 2 } });
  expect(differences).toEqual([]);
});

test('a narrower limit holds what went, and says so object by object', async () => {
  const simulation = await simulated(carriedOut(begun(), REMOVED), LIMIT_5);
  expect(simulation.total).toEqual({
    objects: 2,
    policy: { deleted: 1, held: 1 },
    against: { deleted: 2 },
  });
  expect(simulation.differences).toMatchObject([
    {
      cluster: 'c1',
      kind: 'ConfigMap',
      uid: 'x',
      policy: { is: 'held', rule: 'S1' },
      against: { is: 'deleted', rule: 'D14' },
    },
  ]);
  const lines = clusterSimulationLines(simulation).join('\n');
  expect(lines).toMatch(/\nc1 +simulated +2 +1 +1\nc1 +happened +2 +2 +0\n/);
  expect(lines).toMatch(/\nConfigMap ns\/x +c1 +held \(S1\) +deleted \(D14\) +/);
  expect(lines).toContain('- What another deletion would have set free nobody can know');
});

test.each([
  [{ outcome: 'rehearsed' }, 'dry-run'],
  [{ outcome: 'refused', reason: 'changed', message: '' }, 'not-done'],
  [{ outcome: 'failed', reason: 'forbidden', message: '' }, 'not-done'],
  [{ outcome: 'not-found' }, 'deleted'],
] as const)('of what happened %j is %s', async (outcome, is) => {
  const { total } = await simulated(carriedOut(begun(), outcome), {});
  expect(total.against).toEqual({ [is]: 2 });
});

test('what is deleted on one side stays so there, whatever is told of it later', async () => {
  const log = begun();
  const keptAll = setOf({ keep: { namespaces: ['ns'], kinds: [] } });
  log.decide(ownership({ id: 'f1', candidates: [doomed('x')] }), keptAll);
  log.decide(
    ownership({ id: 'f2', candidates: [candidate({ object: { uid: 'x' }, references: [owner('o')] })] }),
    keptAll,
  );
  const { total } = await simulated(log, {});
  expect(total).toEqual({ objects: 1, policy: { deleted: 1 }, against: { kept: 1 } });
});

test('of what happened, what a result says is deleted stays so', async () => {
  const log = carriedOut(begun(), REMOVED);
  const references = [owner('o')];
  log.decide(ownership({ id: 'late', candidates: [candidate({ object: { uid: 'x' }, references })] }));
  const { total } = await simulated(log, {});
  expect(total.against).toEqual({ deleted: 2 });
});

test('policies are compared with other policies, by facts alone', async () => {
  const { total, compared } = await simulated(carriedOut(begun(), REMOVED), LIMIT_5, {
    collectors: [],
  });
  expect(total).toMatchObject({ policy: { deleted: 1, held: 1 }, against: { 'not-ours': 2 } });
  expect(compared.against).toHaveLength(1);
});

test('a fact without a decision is undecided, and one whose cluster no policy selects keeps everything', async () => {
  const log = begun();
  const { decision } = log.decide(ownership({ candidates: [doomed('x')] }));
  const records = log.records.filter((record) => record !== decision);
  const { total, clusters } = await simulated(
    { records },
    {
      selector: { clusters: ['other'] },
    },
  );
  expect(total).toMatchObject({ policy: { kept: 1 }, against: { undecided: 1 } });
  expect(clusters).toMatchObject([{ policies: { policy: null, against: null } }]);
});
