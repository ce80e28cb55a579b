import { expect, test, vi } from 'vitest';
import { AnsweredClusterCommands } from '../../../../packages/audit/verify/cluster-commands.ts';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import { clusterCommandResult } from '../../../fixtures/cluster.ts';
import { onLog } from '../../../support/logs/log-record.ts';

test('answers to a command that nobody knows are kept in work that grows with them', () => {
  const most = 1_000;
  const answered = new AnsweredClusterCommands(createCollector(), {
    coverage: () => 0,
    kept: () => 0,
    beganAfter: () => false,
  });
  const record = onLog({ topic: 'gc.cluster.results', key: 'c1', value: null, headers: {} });
  const copied = vi.spyOn(Map.prototype, 'set');
  for (let index = 0; index < most; index++) answered.answered(clusterCommandResult(), record);
  const lists = copied.mock.calls.filter(([, list]) => Array.isArray(list)).length;
  copied.mockRestore();
  expect(lists).toBe(1);
});
