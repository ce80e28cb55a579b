import { expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';

const a = appliedPolicy({ name: 'a' });
const b = appliedPolicy({ name: 'b' });
const here = pauseRecord({ selector: { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} } });
const everywhere = pauseRecord();

test('the order of arrival changes nothing', () => {
  expect(policySet('node', [b, a], [here, everywhere])).toEqual(
    policySet('node', [a, b], [everywhere, here]),
  );
  expect(policySet('node', [b, a], []).policies).toEqual([a, b]);
});

test.each([
  ['another policy', policySet('node', [a, b], [])],
  ['another content', policySet('node', [appliedPolicy({ name: 'a', priority: 1 })], [])],
  ['another version of the same content', policySet('node', [{ ...a, policyVersion: 3 }], [])],
  ['another name', policySet('node', [{ ...a, policy: { ...a.policy, name: 'c' } }], [])],
  ['a pause', policySet('node', [a], [everywhere])],
  ['no policy', policySet('node', [], [])],
])('%s is another hash', (_name, other) => {
  expect(other.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(other.hash).not.toBe(policySet('node', [a], []).hash);
});

test('how a policy was written does not count, only what it means', () => {
  expect(policySet('node', [{ ...a, id: 'other', source: '# other' }], []).hash).toBe(
    policySet('node', [a], []).hash,
  );
});
