import { expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { readHolds } from '../../../services/cluster-holds/read-holds.ts';
import { census } from '../../fixtures/census.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';
import { MINUTE } from '../../fixtures/time.ts';
import { logOf } from '../audit/support/archives.ts';
import { begun, type ClusterHistory } from '../audit/support/cluster-history.ts';

const RECORD = clusterPolicyRecord({
  collectors: ['pod-garbage-collector-controller'],
  limits: { cascade: 5, cascadeOfKind: 5, removalsPerHour: 100 },
});

const held = async (log: ClusterHistory): Promise<readonly number[]> => {
  const reading = { cluster: null, fromMs: 0 };
  const clusters = await readHolds(logOf(log.records), reading, new AbortController().signal);
  return clusters.flatMap(({ holds }) => holds.map(({ objects }) => objects));
};

test('[cluster S1] pods that are told no more, as their node is back, are listed for a quarter of an hour after', async () => {
  const log = begun(RECORD);
  const node = { state: 'missing', name: 'n', missingForMs: 60_000 } as const;
  const fact = pods({ candidates: [podCandidate({ node })], totals: { onMissingNodes: 6 } });
  log.decide(fact, policySet('cluster', [RECORD], []));
  log.add(clusterOutput('clusterCensus', census()), 14 * MINUTE);
  expect(await held(log)).toEqual([1]);
  log.add(clusterOutput('clusterCensus', census()), 2 * MINUTE);
  expect(await held(log)).toEqual([]);
});
