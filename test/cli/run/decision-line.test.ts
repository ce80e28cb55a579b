import { expect, test } from 'vitest';
import { decisionLine } from '../../../cli/run/lines.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import { verdictsOf } from '../../fixtures/verdicts.ts';

const NAMES = {
  image: ['a:1', 'b:1', 'c:1', 'd:1'],
  container: ['web/app'],
  sandbox: ['web'],
  'pod-log-directory': ['a_b_c'],
  'log-symlink': [],
};
const verdict = (position: number, action: 'remove' | 'keep' = 'remove') => ({
  position,
  action,
  rule: 'D11',
  facts: {},
});

/** image-gc in dry-run, with nothing to remove. */
const decision = (overrides: Partial<Decision> = {}): Decision => ({
  type: 'fleetgc.node.decision',
  version: 1,
  id: 'decision-1',
  cluster: 'local',
  node: 'n',
  nodeInstance: '6f9a3a52-6e5b-4a3e-8a5e-0d8a4b0f8f10',
  takenAt: { wallTimeMs: 0, bootId: 'b', sinceBootMs: 0 },
  decider: { name: 'image-gc', version: '1' },
  input: { topic: 'gc.node.inventory', partition: 0, offset: '0', id: 'inventory-1', sha256: '' },
  policy: null,
  policySetHash: '',
  outcome: 'dry-run',
  reason: '',
  notBelieved: [],
  reclaim: null,
  estimatedBytes: 0,
  verdicts: [],
  notes: [],
  outputIds: [],
  ...overrides,
});

test.each<{ name: string; given: Partial<Decision>; says: string | null }>([
  {
    name: 'a dry run',
    given: { estimatedBytes: 1_200_000_000, verdicts: images(0, 2) },
    says: 'image-gc would remove 2 images (a:1, c:1), about 1.2 GB, but this is a dry run',
  },
  {
    name: 'a command with many objects',
    given: { outcome: 'commanded', estimatedBytes: 4_000_000_000, verdicts: images(0, 1, 2, 3) },
    says: 'image-gc wants to remove 4 images (a:1, b:1, c:1 and 1 more), about 4.0 GB',
  },
  {
    name: 'containers and sandboxes',
    given: {
      outcome: 'commanded',
      decider: { name: 'container-gc', version: '1' },
      verdicts: verdictsOf({ container: [verdict(0)], sandbox: [verdict(0)] }),
    },
    says: 'container-gc wants to remove 1 container (web/app) and 1 sandbox (web)',
  },
  {
    name: 'logs alone',
    given: {
      outcome: 'commanded',
      decider: { name: 'container-gc', version: '1' },
      verdicts: verdictsOf({
        'pod-log-directory': [verdict(0)],
        'log-symlink': [verdict(0), verdict(1)],
      }),
    },
    says: 'container-gc wants to remove 1 pod log directory (a_b_c) and 2 log symlinks',
  },
  {
    name: 'no policy',
    given: { outcome: 'no-policy' },
    says: 'no policy selects this node: everything stays',
  },
  {
    name: 'a pause, which is told when it begins',
    given: { outcome: 'paused', reason: 'registry is down' },
    says: null,
  },
  {
    name: 'facts that are not believed',
    given: {
      outcome: 'not-believed',
      notBelieved: [
        { rule: 'D5', message: 'the capacity is 0' },
        { rule: 'D4', message: 'more is available than there is' },
      ],
    },
    says: 'nothing can be decided: the capacity is 0 (and 1 more)',
  },
  { name: 'nothing to do', given: { outcome: 'nothing-to-do' }, says: null },
  { name: 'an order, which the node answers', given: { outcome: 'ordered' }, says: null },
])('a decision in one line: $name', ({ given, says }) => {
  expect(decisionLine(decision(given), NAMES)).toBe(says);
});

test('without the inventory that was decided on nobody knows names, and numbers in a list help nobody', () => {
  expect(decisionLine(decision({ outcome: 'commanded', verdicts: images(2) }), undefined)).toBe(
    'image-gc wants to remove 1 image',
  );
});

function images(...positions: readonly number[]): Decision['verdicts'] {
  const kept = [0, 1, 2, 3].filter((position) => !positions.includes(position));
  return verdictsOf({
    image: [
      ...positions.map((position) => verdict(position)),
      ...kept.map((position) => verdict(position, 'keep')),
    ],
  });
}
