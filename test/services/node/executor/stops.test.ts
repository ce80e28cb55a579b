import { expect, test } from 'vitest';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import type { PolicyInForce } from '../../../../services/node/executor/checks.ts';
import { type LocalRules, NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { watchStops } from '../../../../services/node/executor/metrics.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';

async function stopsOf(policy: PolicyInForce, rules: LocalRules): Promise<readonly string[]> {
  const metrics = createMetrics();
  const localRules = watchStops(
    metrics,
    () => policy,
    async () => rules,
  );
  expect(await localRules()).toBe(rules);
  return [...(await metrics.text()).matchAll(/executor_stopped\{why="([a-z-]+)"\} 1/g)].map(
    ([, why = '']) => why,
  );
}

const ENFORCED: PolicyInForce = { kind: 'enforced', record: appliedPolicy() };

test.each<[PolicyInForce, LocalRules, readonly string[]]>([
  [ENFORCED, NO_LOCAL_RULES, []],
  [{ kind: 'paused', pause: { reason: '' } }, NO_LOCAL_RULES, ['paused']],
  [{ kind: 'not-enforced', message: '' }, NO_LOCAL_RULES, ['not-enforced']],
  [{ kind: 'unreadable', message: '' }, NO_LOCAL_RULES, ['policies-unreadable']],
  [ENFORCED, { ...NO_LOCAL_RULES, hold: true }, ['local-hold']],
  [ENFORCED, { kind: 'held', message: '' }, ['local-hold']],
])('why nothing is removed on a node is told: %j, %j', async (policy, rules, stops) => {
  expect(await stopsOf(policy, rules)).toEqual(stops);
});
