import { expect, test } from 'vitest';
import { holdingChanges } from '../../../cli/run/holding.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
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
  const policies = {
    current: {
      node: readable,
      cluster: () => ({ subject: 'cluster' as const, policies: [], pauses: [], hash: '' }),
    },
    problem: () => (held === 'unreadable' ? held : null),
  };
  const look = holdingChanges({
    policies,
    node: NODE,
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
