import { expect, test } from 'vitest';
import { holdingChanges, holdingNow } from '../../../cli/run/policies.ts';
import { policySet as setOf } from '../../../packages/decision/policy-set.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { NO_POLICY, pauseRecord, policySet } from '../../fixtures/policy.ts';

const NODE = { cluster: 'local', node: 'n', nodeLabels: {} };
const ENFORCE = policySet({ name: 'mine', mode: 'enforce' });
const PAUSED: PolicySet = { ...ENFORCE, pauses: [pauseRecord({ reason: 'upgrade' })] };
const SAYS_PAUSED =
  'Paused (all nodes: upgrade): nothing will be removed until "fleetgc resume --log embedded --log-path /log.db".';

/** What is told of each of these, one after the other; `unreadable` for a time in which nobody knows. */
function toldOf(first: PolicySet, ...later: readonly (PolicySet | 'unreadable')[]): readonly string[] {
  let held: PolicySet | 'unreadable' = first;
  const lines: string[] = [];
  const readable = (): PolicySet => {
    if (held === 'unreadable') throw new Error('unreadable');
    return held;
  };
  const look = holdingChanges({
    policies: { problem: () => (held === 'unreadable' ? held : null) },
    current: readable,
    subject: NODE,
    logPath: '/log.db',
    print: (line) => lines.push(line),
  });
  for (const next of later) {
    held = next;
    look();
    look();
  }
  return lines;
}

test('the beginning and the end of a pause are told once, without a decision', () => {
  expect(toldOf(ENFORCE, ENFORCE, PAUSED, ENFORCE)).toEqual([
    SAYS_PAUSED,
    'Not paused any more. Policy mine: enforce. What it allows will be removed.',
  ]);
});

test('the end of a pause of before is told, and so is another policy', () => {
  expect(toldOf(PAUSED, policySet({ name: 'mine', mode: 'dry-run' }), NO_POLICY)).toEqual([
    'Not paused any more. Policy mine: dry-run. Nothing will be removed.',
    'No policy selects this node: nothing will be removed.',
  ]);
});

test('a time in which nobody knows the policies changes nothing of it', () => {
  expect(toldOf(ENFORCE, 'unreadable', ENFORCE, 'unreadable', PAUSED)).toEqual([SAYS_PAUSED]);
});

const ruleNamed = (name: string): OwnRule => ({
  ...{ name, kinds: ['ConfigMap'], namespaces: [] },
  ...{ propagation: 'Background', removalsPerHour: 100 },
});

test.each<[Partial<ClusterPolicy>, string]>([
  [{ mode: 'dry-run' }, 'Policy default: dry-run. Nothing will be removed.'],
  [
    { mode: 'enforce' },
    'Policy default: enforce, for garbage-collector-controller. What it allows will be removed.',
  ],
  [
    { mode: 'rehearse' },
    'Policy default: rehearse, for garbage-collector-controller. The API server is asked, and nothing will be removed.',
  ],
  [
    { mode: 'enforce', collectors: [] },
    'Policy default: enforce, and it gives FleetGC no collector and has no rules. Nothing will be removed.',
  ],
  [
    { mode: 'enforce', collectors: [], rules: [ruleNamed('one')] },
    'Policy default: enforce, for 1 rule of its own. What it allows will be removed.',
  ],
  [
    { mode: 'rehearse', rules: ['one', 'two'].map(ruleNamed) },
    'Policy default: rehearse, for garbage-collector-controller, 2 rules of its own. The API server is asked, and nothing will be removed.',
  ],
  [{ selector: { clusters: ['other'] } }, 'No policy selects this cluster: nothing will be removed.'],
])('what holds for a cluster with %j', (over, line) => {
  const policies = setOf('cluster', [clusterPolicyRecord(over)], []);
  expect(holdingNow({ policies, subject: { cluster: 'c1' }, logPath: '/log.db' }).line).toBe(line);
});
