import { expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { PolicySet } from '../../../../schemas/policy/policy.ts';
import { policyInForce } from '../../../../services/node-executor/checks/command-checks.ts';
import { EVERY_NODE, NO_POLICY, pauseRecord, policySet } from '../../../fixtures/policy.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: { pool: 'web' } };

test('the policy that selects the node and says enforce is in force', () => {
  const set = policySet({ mode: 'enforce' });
  expect(policyInForce(() => set, NODE)).toEqual({ kind: 'enforced', record: set.policies[0] });
});

test.each<{ name: string; set: PolicySet; expected: object }>([
  {
    name: 'the policy that selects it is in dry-run',
    set: policySet({ name: 'web', mode: 'dry-run' }),
    expected: { kind: 'not-enforced', message: 'policy web says dry-run for this node now' },
  },
  {
    name: 'no policy is left',
    set: NO_POLICY,
    expected: { kind: 'not-enforced', message: 'no policy selects this node now' },
  },
  {
    name: 'the policy is for other nodes',
    set: policySet({ selector: { ...EVERY_NODE, nodeLabels: { pool: 'db' } } }),
    expected: { kind: 'not-enforced', message: 'no policy selects this node now' },
  },
  {
    name: 'it is paused',
    set: policySet({ mode: 'enforce' }, [pauseRecord({ reason: 'registry is down' })]),
    expected: { kind: 'paused', pause: { reason: 'registry is down' } },
  },
])('none is when $name', ({ set, expected }) => {
  expect(policyInForce(() => set, NODE)).toMatchObject(expected);
});

test('while the policies cannot be read nobody says that something may go', () => {
  const unreadable = () => {
    throw new FleetGcError('POLICIES_UNREADABLE', 'the policies are not read yet');
  };
  expect(policyInForce(unreadable, NODE)).toEqual({
    kind: 'unreadable',
    message: 'the policies are not read yet',
  });
});
