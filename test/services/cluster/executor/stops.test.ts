import { expect, test } from 'vitest';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { addStopMetrics } from '../../../../services/cluster/executor/metrics.ts';
import type { ClusterPolicyInForce } from '../../../../services/cluster/executor/ports.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';

const under = (mode: 'enforce' | 'rehearse' | 'dry-run'): ClusterPolicyInForce => ({
  kind: 'policy',
  record: clusterPolicyRecord({ mode }),
  approvals: [],
});

test.each<[ClusterPolicyInForce, string | null, readonly string[]]>([
  [under('enforce'), null, []],
  [under('dry-run'), null, ['not-enforced']],
  [under('rehearse'), null, ['not-enforced']],
  [{ kind: 'none' }, null, ['not-enforced']],
  [{ kind: 'paused', reason: '' }, null, ['paused']],
  [{ kind: 'unreadable', message: '' }, null, ['policies-unreadable']],
  [under('enforce'), 'it says "hold: true"', ['local-hold']],
])('why nothing is done in a cluster is told: %j, %j', async (policy, hold, stops) => {
  const metrics = createMetrics();
  addStopMetrics(metrics, { policy: () => policy, localHold: () => hold });
  const text = await metrics.text();
  expect([...text.matchAll(/executor_stopped\{why="([a-z-]+)"\} 1/g)].map(([, why]) => why)).toEqual(stops);
});
