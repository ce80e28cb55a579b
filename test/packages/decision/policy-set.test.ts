import { expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';

const a = appliedPolicy({ name: 'a' });
const b = appliedPolicy({ name: 'b' });
const here = pauseRecord({ selector: { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} } });
const everywhere = pauseRecord();

test('the order of arrival changes nothing', () => {
  expect(policySet([b, a], [here, everywhere])).toEqual(policySet([a, b], [everywhere, here]));
  expect(policySet([b, a], []).policies).toEqual([a, b]);
});

test.each([
  ['another policy', policySet([a, b], [])],
  ['another content', policySet([appliedPolicy({ name: 'a', priority: 1 })], [])],
  ['another version of the same content', policySet([{ ...a, policyVersion: 3 }], [])],
  ['another name', policySet([{ ...a, policy: { ...a.policy, name: 'c' } }], [])],
  ['a pause', policySet([a], [everywhere])],
  ['no policy', policySet([], [])],
])('%s is another hash', (_name, other) => {
  expect(other.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(other.hash).not.toBe(policySet([a], []).hash);
});

test('how a policy was written does not count, only what it means', () => {
  expect(policySet([{ ...a, id: 'other', source: '# other' }], []).hash).toBe(policySet([a], []).hash);
});
