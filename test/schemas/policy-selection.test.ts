import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type NodeSelector, type Policy, type PolicySet, pauseKey } from '../../schemas/policy/policy.ts';
import { selectPolicy, selects } from '../../schemas/policy/policy-selection.ts';
import { EVERY_NODE, pauseRecord, policyRecord } from '../fixtures/policy.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: { pool: 'web', 'fleetgc.io/pool': 'gpu' } };

const record = (name: string, overrides: Partial<Policy> = {}) => policyRecord({ name, ...overrides });
const pause = (selector: NodeSelector) => pauseRecord({ selector });

test('a node that no policy selects gets none, which means keep everything', () => {
  expect(selectPolicy({ subject: 'node', policies: [], pauses: [], approvals: [], hash: '' }, NODE)).toEqual({
    kind: 'none',
  });
});

test('the highest priority wins, and between equals the first by name, whatever the order of arrival', () => {
  const policies = [record('b', { priority: 5 }), record('low'), record('a', { priority: 5 })];
  for (const order of [policies, policies.toReversed()]) {
    const selection = selectPolicy(
      { subject: 'node', policies: order, pauses: [], approvals: [], hash: '' },
      NODE,
    );
    expect(selection).toMatchObject({ kind: 'policy', record: { policy: { name: 'a' } } });
  }
});

test('a pause outranks every policy on the nodes it selects, and only there', () => {
  const set: PolicySet = {
    subject: 'node',
    policies: [record('a', { priority: 1000 })],
    pauses: [pause({ ...EVERY_NODE, clusters: ['prod'] })],
    approvals: [],
    hash: '',
  };
  expect(selectPolicy(set, NODE).kind).toBe('paused');
  expect(selectPolicy(set, { ...NODE, cluster: 'test' }).kind).toBe('policy');
});

describe('a selector', () => {
  test.each<{ name: string; selector: Partial<NodeSelector>; selected: boolean }>([
    { name: 'without conditions selects every node', selector: {}, selected: true },
    { name: 'selects by cluster', selector: { clusters: ['prod'] }, selected: true },
    { name: 'refuses another cluster', selector: { clusters: ['test'] }, selected: false },
    { name: 'selects by a name pattern', selector: { nodeNames: ['db-*', 'web-*'] }, selected: true },
    { name: 'refuses a name that no pattern matches', selector: { nodeNames: ['db-*'] }, selected: false },
    { name: 'selects by label', selector: { nodeLabels: { pool: 'web' } }, selected: true },
    { name: 'refuses a missing label', selector: { nodeLabels: { gpu: 'yes' } }, selected: false },
    { name: 'selects by pool', selector: { pools: ['cpu', 'gpu'] }, selected: true },
    { name: 'refuses another pool', selector: { pools: ['cpu'] }, selected: false },
    {
      name: 'wants every condition',
      selector: { clusters: ['prod'], nodeLabels: { pool: 'db' } },
      selected: false,
    },
  ])('$name', ({ selector, selected }) => {
    expect(selects({ ...EVERY_NODE, ...selector }, NODE)).toBe(selected);
  });
});

test('a node without the label of a pool belongs to none', () => {
  expect(selects({ ...EVERY_NODE, pools: ['gpu'] }, { ...NODE, nodeLabels: {} })).toBe(false);
});

test('a pause has a key for each selector, whatever the order of its parts, so that none ends another', () => {
  const one: NodeSelector = {
    clusters: ['a', 'b'],
    nodeNames: [],
    pools: [],
    nodeLabels: { x: '1', y: '2' },
  };
  const same: NodeSelector = {
    clusters: ['b', 'a', 'a'],
    nodeNames: [],
    pools: [],
    nodeLabels: { y: '2', x: '1' },
  };
  const names: NodeSelector = { ...EVERY_NODE, nodeNames: ['a'] };
  const clusters: NodeSelector = { ...EVERY_NODE, clusters: ['a'] };
  const pools: NodeSelector = { ...EVERY_NODE, pools: ['a'] };

  expect(pauseKey(EVERY_NODE)).toBe('!pause');
  expect(pauseKey(one)).toBe(pauseKey(same));
  expect(new Set([EVERY_NODE, one, names, clusters, pools].map(pauseKey)).size).toBe(5);
});

test('what is remembered of names takes little memory, however many selectors and nodes there are', () => {
  const selection = join(import.meta.dirname, '../../schemas/policy/policy-selection.ts');
  const asked = `import { selects } from ${JSON.stringify(selection)};
    const selectors = Array.from({ length: 300 }, (_, index) => ({ clusters: [], pools: [], nodeLabels: {}, nodeNames: ['n' + index + '-*'] }));
    for (let node = 0; node < 3_000; node += 1)
      for (const selector of selectors) selects(selector, { cluster: 'c', node: 'n1-' + node, nodeLabels: {} });
    console.log('done');`;
  const options = ['--no-warnings', '--max-old-space-size=40', '--input-type=module', '-e', asked];
  expect(execFileSync(process.execPath, options, { encoding: 'utf8', stdio: 'pipe' })).toBe('done\n');
});
