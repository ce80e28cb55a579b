import { expect, test } from 'vitest';
import type { PolicySet } from '../../../schemas/policy.ts';
import { pausedUnlessEnforced } from '../../../services/cli/node/enforcement.ts';
import { FleetGcError } from '../../../services/shared/errors.ts';
import { EVERY_NODE, NO_POLICY, pauseRecord, policySet } from '../../fixtures/policy.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: { pool: 'web' } };
const pauseIn = (set: PolicySet) => pausedUnlessEnforced({ current: () => set }).pauseFor(NODE);

test('a node whose policy enforces is not paused', () => {
  expect(pauseIn(policySet({ mode: 'enforce' }))).toBeNull();
});

test.each<{ name: string; set: PolicySet; reason: string }>([
  {
    name: 'the policy that selects it is in dry-run now',
    set: policySet({ name: 'web', mode: 'dry-run' }),
    reason: 'the policy web says dry-run now',
  },
  { name: 'no policy is left', set: NO_POLICY, reason: 'no policy selects this node any more' },
  {
    name: 'the policy is for other nodes',
    set: policySet({ selector: { ...EVERY_NODE, nodeLabels: { pool: 'db' } } }),
    reason: 'no policy selects this node any more',
  },
  {
    name: 'it is paused',
    set: policySet({ mode: 'enforce' }, [pauseRecord({ reason: 'registry is down' })]),
    reason: 'registry is down',
  },
])('nothing is removed when $name', ({ set, reason }) => {
  expect(pauseIn(set)).toMatchObject({ reason });
});

test('while the policies cannot be read nobody says that something may go', () => {
  const unreadable = () => {
    throw new FleetGcError('POLICIES_UNREADABLE', 'the policies are not read yet');
  };
  expect(() => pausedUnlessEnforced({ current: unreadable }).pauseFor(NODE)).toThrow('not read yet');
});
