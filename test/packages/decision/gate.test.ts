import { expect, test } from 'vitest';
import { gateFor } from '../../../packages/decision/gate.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { NODE } from '../../fixtures/inventory.ts';
import { pauseRecord, policyRecord } from '../../fixtures/policy.ts';

const gate = (...[policies, pauses]: [Parameters<typeof policySet>[1], Parameters<typeof policySet>[2]]) =>
  gateFor(policySet('node', policies, pauses), { ...NODE, nodeLabels: {} });

test('a policy that selects the node opens the gate', () => {
  expect(gate([policyRecord()], [])).toEqual({ kind: 'open', record: policyRecord() });
});

test('[P1] without one it is closed', () => {
  expect(gate([], [])).toMatchObject({ kind: 'closed', rule: 'P1', outcome: 'no-policy', notBelieved: [] });
});

test('[P2] a pause closes it whatever policy there is, and its reason is told', () => {
  expect(gate([policyRecord()], [pauseRecord()])).toMatchObject({
    kind: 'closed',
    rule: 'P2',
    outcome: 'paused',
    record: null,
    reason: expect.stringContaining('reason given: an incident is being looked into'),
  });
});
